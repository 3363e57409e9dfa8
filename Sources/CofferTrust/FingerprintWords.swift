/// The words of fingerprints: 256, in alphabetical order, so that a word's place is a byte.
///
/// Common English words of 3 to 8 letters for things that one can picture; no two are one letter apart. The list
/// is part of the format: it never changes.
enum FingerprintWords {
    static let all: [String] = list.split { $0 == " " || $0 == "\n" }.map(String.init)

    private static let list = """
        acid acorn album alley amber anchor ankle apple apron arena armor arrow atlas attic autumn badge
        bagel bamboo banjo barrel basil beach bear beetle berry bishop blanket blossom bonfire bottle brick
        bridge bronze bucket buffalo butter cabin cactus camel candle canoe canyon carbon carpet castle
        cedar cello chalk cherry chimney cider circus clover cobalt coconut comet copper coral cotton cousin
        cowboy crab cricket crystal cupcake dagger daisy dentist desert diamond dolphin dragon drum eagle
        earth echo eclipse elbow elephant emerald engine envelope falcon feather fiddle flamingo flute
        forest fossil fox galaxy garlic geyser giant ginger giraffe glacier goblet gorilla granite grape
        guitar hammer harbor harvest hawk hazel helmet hermit hippo honey hornet igloo indigo insect iron
        island ivory jacket jaguar jasmine jelly jewel jigsaw jungle kayak kennel kettle kiwi knight koala
        ladder lagoon lantern lava lemon leopard lichen lily lobster lotus magnet mango maple marble meadow
        melon meteor mirror mitten monkey mosaic mountain muffin museum napkin nectar needle nickel noodle
        nugget nutmeg oasis ocean octopus olive onion opera orange orbit orchid otter oyster paddle palace
        panda paper parrot pebble pelican penguin pepper piano pigeon pillow pirate planet plum polar pond
        potato prairie pumpkin puzzle pyramid quartz queen quilt rabbit raccoon radio rainbow raven ribbon
        river robin rocket rooster rose ruby salmon sandal satin scarlet shadow shovel silver skunk sloth
        snail sparrow spider squid stadium sugar summit sunset swan tailor talon teapot temple thimble
        thunder tiger timber toffee tomato tornado trumpet tulip turtle umbrella urchin vampire velvet
        violin volcano walnut walrus whale window wizard yogurt zebra zipper
        """
}
