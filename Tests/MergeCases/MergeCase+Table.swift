// The rows of the table.
extension MergeCase {
    static let attributes = [
        MergeCase("Different attributes of one item: both apply") { world in
            try world.owner.writes("a", "1")
            try world.sync()
            world.part()
            try world.owner.setsMode("a", 0o600)
            try world.member.setsAttribute("a", "user.colour", "red")
            try world.meet()
            for person in [world.owner, world.member] {
                try person.expectsMode("a", 0o600)
                try person.expectsAttribute("a", "user.colour", "red")
            }
        },
        MergeCase("One attribute: the later wins") { world in
            try world.owner.writes("a", "1")
            try world.sync()
            world.part()
            try world.owner.setsMode("a", 0o600)
            try world.owner.setsAttribute("a", "user.colour", "red")
            try world.member.setsMode("a", 0o640)
            try world.member.setsAttribute("a", "user.colour", "blue")
            try world.meet()
            for person in [world.owner, world.member] {
                try person.expectsMode("a", 0o640)
                try person.expectsAttribute("a", "user.colour", "blue")
            }
        },
    ]

    static let contents = [
        MergeCase("Content and content: the later keeps the name, the other becomes a copy") { world in
            try world.owner.writes("a.txt", "0")
            try world.sync()
            world.part()
            try world.owner.writes("a.txt", "1")
            try world.member.writes("a.txt", "2")
            try world.meet()
            try world.expect(["a.txt": "2", World.conflict("a.txt", world.owner): "1"])
        },
        MergeCase("Content three times: two copies", users: 3) { world in
            try world.owner.writes("a.txt", "0")
            try world.sync()
            world.part()
            try world.owner.writes("a.txt", "1")
            try world.member.writes("a.txt", "2")
            try world.guest.writes("a.txt", "3")
            try world.meet()
            try world.expect([
                "a.txt": "3", World.conflict("a.txt", world.owner): "1",
                World.conflict("a.txt", world.member): "2",
            ])
        },
        MergeCase("Rename and content: both apply") { world in
            try world.owner.writes("a", "0")
            try world.sync()
            world.part()
            try world.owner.moves("a", "b")
            try world.member.writes("a", "1")
            try world.meet()
            try world.expect(["b": "1"])
        },
        MergeCase("Delete and content: the file stays") { world in
            try world.owner.writes("a", "0")
            try world.sync()
            world.part()
            try world.owner.writes("b", "other")
            try world.member.writes("a", "1")
            try world.owner.removes("a")
            try world.meet()
            try world.expect(["a": "1", "b": "other"])
        },
        MergeCase("Delete of all hard links and content: the file stays, once") { world in
            try world.owner.writes("a", "0")
            try world.owner.links("a", "b")
            try world.sync()
            world.part()
            try world.owner.removes("a")
            try world.owner.removes("b")
            try world.member.writes("a", "1")
            try world.meet()
            try world.expect(["b": "1"])
        },
        MergeCase("A hard link that was removed stays away when its item is written") { world in
            try world.owner.writes("a", "0")
            try world.owner.links("a", "b")
            try world.sync()
            try world.owner.removes("a")
            try world.sync()
            try world.member.writes("b", "1")
            try world.sync()
            try world.expect(["b": "1"])
        },
    ]

    static let entries = [
        MergeCase("Rename and rename: the later wins, without a copy") { world in
            try world.owner.writes("a", "0")
            try world.sync()
            world.part()
            try world.owner.moves("a", "b")
            try world.member.moves("a", "c")
            try world.meet()
            try world.expect(["c": "0"])
        },
        MergeCase("Rename and delete: the rename wins") { world in
            try world.owner.writes("a", "0")
            try world.sync()
            world.part()
            try world.owner.moves("a", "b")
            try world.member.removes("a")
            try world.meet()
            try world.expect(["b": "0"])
        },
        MergeCase("Create and create of one name: as content and content") { world in
            world.part()
            try world.owner.writes("a.txt", "1")
            try world.member.writes("a.txt", "2")
            try world.meet()
            try world.expect(["a.txt": "2", World.conflict("a.txt", world.owner): "1"])
        },
        MergeCase("Rename and rename to one name: the later keeps it") { world in
            try world.owner.writes("a", "a")
            try world.owner.writes("b", "b")
            try world.sync()
            world.part()
            try world.owner.moves("a", "c")
            try world.member.moves("b", "c")
            try world.meet()
            try world.expect(["c": "b", World.conflict("c", world.owner): "a"])
        },
        MergeCase("File and directory of one name: the directory keeps it") { world in
            world.part()
            try world.owner.makesDirectory("a")
            try world.owner.writes("a/b", "1")
            try world.member.writes("a", "2")
            try world.meet()
            try world.expect(["a/": "", "a/b": "1", World.conflict("a", world.member): "2"])
        },
    ]

    static let directories = [
        MergeCase("Delete of a directory, and create inside: it stays with what was created") { world in
            try world.owner.makesDirectory("d")
            try world.owner.makesDirectory("d/e")
            try world.owner.writes("d/old", "0")
            try world.sync()
            world.part()
            try world.member.writes("d/e/new", "1")
            try world.owner.removes("d/e")
            try world.owner.removes("d/old")
            try world.owner.removes("d")
            try world.meet()
            try world.expect(["d/": "", "d/e/": "", "d/e/new": "1"])
            try world.member.removes("d/e/new")
            try world.sync()
            try world.expect(["d/": "", "d/e/": ""])
        },
        MergeCase("mkdir and mkdir of one name: one directory, contents united") { world in
            world.part()
            for (person, text) in [(world.owner, "1"), (world.member, "2")] {
                try person.makesDirectory("d")
                try person.makesDirectory("d/e")
                try person.writes("d/e/\(text)", text)
                try person.writes("d/same.txt", text)
            }
            try world.meet()
            try world.expect([
                "d/": "", "d/e/": "", "d/e/1": "1", "d/e/2": "2", "d/same.txt": "2",
                World.conflict("d/same.txt", world.owner): "1",
            ])
            try world.member.moves("d", "f")
            try world.sync()
            try world.owner.removes("f/e/1")
            try world.owner.removes("f/e/2")
            try world.owner.removes("f/e")
            try world.sync()
            try world.expect([
                "f/": "", "f/same.txt": "2", World.conflict("f/same.txt", world.owner): "1",
            ])
        },
        MergeCase("Moves that would make a cycle: the later one is undone") { world in
            for path in ["a", "b"] { try world.owner.makesDirectory(path) }
            try world.owner.writes("a/1", "1")
            try world.owner.writes("b/2", "2")
            try world.sync()
            world.part()
            try world.owner.moves("a", "b/a")
            try world.member.moves("b", "a/b")
            try world.meet()
            try world.expect(["b/": "", "b/2": "2", "b/a/": "", "b/a/1": "1"])
        },
        MergeCase("A cycle of three", users: 3) { world in
            for path in ["a", "b", "c"] { try world.owner.makesDirectory(path) }
            try world.sync()
            world.part()
            try world.owner.moves("a", "b/a")
            try world.member.moves("b", "c/b")
            try world.guest.moves("c", "a/c")
            try world.meet()
            try world.expect(["c/": "", "c/b/": "", "c/b/a/": ""])
        },
    ]

    static let copies = [
        MergeCase("A copy that both write: it is a file like others") { world in
            try makeCopy(world)
            world.part()
            let copy = World.conflict("a.txt", world.owner)
            try world.owner.rewrites(copy, "3")
            try world.member.rewrites(copy, "4")
            try world.meet()
            try world.expect([
                "a.txt": "2", copy: "4",
                "a (conflict, \(world.owner.user.label), DATE) 2.txt": "3",
            ])
        },
        MergeCase("A copy that one removes, while the other writes the file") { world in
            try makeCopy(world)
            world.part()
            try world.owner.removes(World.conflict("a.txt", world.owner))
            try world.member.writes("a.txt", "3")
            try world.meet()
            try world.expect(["a.txt": "3"])
        },
        MergeCase("A copy that both move") { world in
            try makeCopy(world)
            world.part()
            try world.owner.moves(World.conflict("a.txt", world.owner), "mine")
            try world.member.moves(World.conflict("a.txt", world.owner), "yours")
            try world.meet()
            try world.expect(["a.txt": "2", "yours": "1"])
        },
        MergeCase("A file that is moved leaves its copy where it is") { world in
            try makeCopy(world)
            try world.owner.makesDirectory("d")
            try world.owner.moves("a.txt", "d/b")
            try world.sync()
            try world.expect(["d/": "", "d/b": "2", World.conflict("a.txt", world.owner): "1"])
        },
        MergeCase("A file that is removed leaves its copy where it is") { world in
            try makeCopy(world)
            try world.owner.removes("a.txt")
            try world.sync()
            try world.expect([World.conflict("a.txt", world.owner): "1"])
        },
    ]

    /// `a.txt` with “2”, and a copy of the owner's version with “1”.
    private static func makeCopy(_ world: World) throws {
        world.part()
        try world.owner.writes("a.txt", "1")
        try world.meet()
        world.part()
        try world.owner.writes("a.txt", "1")
        try world.member.writes("a.txt", "2")
        try world.meet()
        try world.expect(["a.txt": "2", World.conflict("a.txt", world.owner): "1"])
    }
}
