/// A file of a simulated disk: as programs see it, as it is on disk, and the writes in between.
struct SimulatedFile {
    /// Disks write sectors of this size whole or not at all.
    static let sectorByteCount = 512

    /// A change that no sync has made durable.
    enum Change {
        case write([UInt8], at: Int)
        case resize(Int)
        case punch(Range<Int>)
    }

    private(set) var visible = FileImage()
    private(set) var durable = FileImage()
    private(set) var unsynced: [Change] = []

    private static func apply(_ change: Change, to image: inout FileImage) {
        switch change {
        case .write(let bytes, let offset): image.write(bytes[...], at: offset)
        case .resize(let size): image.resize(to: size)
        case .punch(let range): image.punch(range)
        }
    }

    mutating func make(_ change: Change) {
        Self.apply(change, to: &visible)
        unsynced.append(change)
    }

    mutating func sync() {
        for change in unsynced { Self.apply(change, to: &durable) }
        unsynced = []
    }

    /// Changes the file without a call, also on disk.
    mutating func tamper(_ change: Change) {
        sync()
        Self.apply(change, to: &visible)
        Self.apply(change, to: &durable)
    }

    /// The file that a power cut leaves: see `SimulatedStorageDirectory.crash`.
    func crashed(_ random: inout SplitMix64) -> SimulatedFile {
        var image = durable
        for group in Self.reorderable(unsynced) {
            for change in group.shuffled(using: &random) { Self.keepSome(of: change, in: &image, &random) }
        }
        var file = SimulatedFile()
        file.visible = image
        file.durable = image
        return file
    }

    /// Changes of size keep their order relative to the others.
    private static func reorderable(_ changes: [Change]) -> [[Change]] {
        var groups: [[Change]] = [[]]
        for change in changes {
            if case .resize = change {
                groups += [[change], []]
            } else {
                groups[groups.count - 1].append(change)
            }
        }
        return groups
    }

    private static func keepSome(of change: Change, in image: inout FileImage, _ random: inout SplitMix64) {
        let fate = random.below(3)
        if fate == 0 { return }
        guard fate == 2, case .write(let bytes, let offset) = change else { return apply(change, to: &image) }
        // Torn: the size may be durable without the bytes, and any sector without the others.
        if random.oneIn(2) { image.resize(to: max(image.size, offset + bytes.count)) }
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, ((offset + start) / sectorByteCount + 1) * sectorByteCount - offset)
            if random.oneIn(2) { image.write(bytes[start..<end], at: offset + start) }
            start = end
        }
    }
}

/// The names of a directory of a simulated disk, each leading to a file by its number.
struct NameTable {
    private(set) var visible: [String: Int] = [:]
    private var durable: [String: Int] = [:]
    private var unsynced: [(name: String, file: Int?)] = []

    mutating func set(_ name: String, to file: Int?) {
        visible[name] = file
        unsynced.append((name, file))
    }

    mutating func sync() {
        durable = visible
        unsynced = []
    }

    /// The names that a power cut leaves: each one as it was after some of its changes.
    func crashed(_ random: inout SplitMix64) -> NameTable {
        var names = durable
        for name in Set(unsynced.map(\.name)).sorted() {
            let states = [durable[name]] + unsynced.filter { $0.name == name }.map(\.file)
            names[name] = states[random.below(states.count)]
        }
        var table = NameTable()
        table.visible = names
        table.durable = names
        return table
    }

    /// The files that some crash could leave under a name.
    var reachable: Set<Int> {
        Set(visible.values).union(durable.values).union(unsynced.compactMap(\.file))
    }
}
