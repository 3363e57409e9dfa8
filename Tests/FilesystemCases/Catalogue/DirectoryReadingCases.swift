internal import CFilesystemCalls
internal import Glibc

private func fill(_ box: Sandbox, _ count: Int) throws {
    for index in 0..<count { try box.create("entry-\(index)") }
}

/// Requires that each required name comes once and no name twice.
private func expectOnce(_ entries: [DirectoryEntry], _ required: Set<String>, line: UInt = #line) throws {
    let names = entries.map(\.name)
    try expectEqual(Set(names).count, names.count, "names without repetition", line: line)
    let missing = required.subtracting(names)
    try expect(
        missing.isEmpty, "\(missing.count) names are missing, one is \(missing.first ?? "")", line: line)
}

let directoryReadingCases: [PosixCase] = [
    PosixCase("5,000 entries are listed, each once, and listed again after rewinddir") { box in
        try fill(box, 5000)
        let expected = Set((0..<5000).map { "entry-\($0)" })
        let stream = try DirectoryStream(box.root)
        try expectOnce(try stream.rest(), expected)
        stream.rewind()
        try expectOnce(try stream.rest(), expected)
        let directory = try box.open("", O_RDONLY | O_DIRECTORY)
        try expectEqual(linux_count_entries(directory.number, 512), 5002, "entries by small buffers")
        for index in 0..<5000 { try box.unlink("entry-\(index)") }
        try expectEqual(try box.names(), [], "names at the end")
    },
    PosixCase("a reader that gives each entry it finds the same new name comes to an end") { box in
        try fill(box, 2000)
        let stream = try DirectoryStream(box.root)
        var count = 0
        while let entry = try stream.next() {
            count += 1
            try expect(count <= 6002, "entries without end")
            if entry.name != ".", entry.name != ".." { try box.rename(entry.name, "the one") }
        }
        try expectEqual(try box.names(), ["the one"], "names at the end")
    },
    PosixCase("rewinddir shows entries made and removed since the directory was opened") { box in
        try fill(box, 10)
        let stream = try DirectoryStream(box.root)
        _ = try stream.rest()
        try box.unlink("entry-3")
        try box.create("new")
        stream.rewind()
        let names = Set(try stream.rest().map(\.name))
        try expect(names.contains("new") && !names.contains("entry-3"), "the names are \(names)")
    },
    PosixCase("seekdir returns to where telldir was, at every entry") { box in
        try fill(box, 200)
        let stream = try DirectoryStream(box.root)
        var positions: [(position: Int, name: String)] = []
        var position = stream.position
        while let entry = try stream.next() {
            positions.append((position, entry.name))
            position = stream.position
        }
        try expectEqual(positions.count, 202, "entries")
        for (position, name) in positions.reversed() {
            stream.seek(position)
            try expectEqual(try stream.next()?.name, name, "the entry at \(position)")
        }
    },
    PosixCase("positions stay valid when entries before and after them are removed") { box in
        try fill(box, 300)
        let stream = try DirectoryStream(box.root)
        var before: [String] = []
        while before.count < 150, let entry = try stream.next() { before.append(entry.name) }
        let position = stream.position
        let behind = try stream.rest().map(\.name)
        for name in before.dropLast(10) where name.hasPrefix("entry") { try box.unlink(name) }
        for name in behind.prefix(10) { try box.unlink(name) }
        let again = try DirectoryStream(box.root)
        while try again.next() != nil {}
        again.seek(position)
        let rest = try again.rest().map(\.name)
        try expectEqual(Set(rest).count, rest.count, "names without repetition")
        try expectEqual(Set(rest), Set(behind.dropFirst(10)), "names from the position on")
    },
    PosixCase("entries that stay are listed once while others are removed during the listing") { box in
        try fill(box, 1000)
        let stream = try DirectoryStream(box.root)
        var names: [DirectoryEntry] = []
        var count = 0
        while let entry = try stream.next() {
            if entry.name.hasPrefix("entry") { names.append(entry) }
            let victim = "entry-\(count * 2)"
            if count < 500 { try box.unlink(victim) }
            count += 1
        }
        try expectOnce(names, Set((0..<500).map { "entry-\($0 * 2 + 1)" }))
    },
    PosixCase("removing each entry as it is listed empties the directory in one pass") { box in
        try fill(box, 1200)
        let stream = try DirectoryStream(box.root)
        while let entry = try stream.next() {
            if entry.name.hasPrefix("entry") { try box.unlink(entry.name) }
        }
        try expectEqual(try box.names(), [], "names")
    },
    PosixCase("entries that stay are listed once while new ones are made during the listing") { box in
        try fill(box, 500)
        let stream = try DirectoryStream(box.root)
        var entries: [DirectoryEntry] = []
        var count = 0
        while let entry = try stream.next() {
            entries.append(entry)
            if count < 500 { try box.create("new-\(count)") }
            count += 1
        }
        try expectOnce(entries, Set((0..<500).map { "entry-\($0)" }))
    },
    PosixCase("entries that stay are listed once while others are renamed during the listing") { box in
        try fill(box, 400)
        let stream = try DirectoryStream(box.root)
        var seen: [String] = []
        var count = 0
        while let entry = try stream.next() {
            seen.append(entry.name)
            if count < 200 { try box.rename("entry-\(count)", "entry-renamed-\(count)") }
            count += 1
        }
        let stable = seen.filter { name in (200..<400).contains { name == "entry-\($0)" } }
        try expectEqual(stable.count, 200, "entries that stayed")
        try expectEqual(Set(stable).count, 200, "distinct entries that stayed")
    },
    PosixCase("two streams of one directory do not disturb each other") { box in
        try fill(box, 100)
        let first = try DirectoryStream(box.root)
        let second = try DirectoryStream(box.root)
        for _ in 0..<50 { _ = try first.next() }
        try expectEqual(try second.rest().count, 100, "entries of the second")
        var rest = 0
        while try first.next() != nil { rest += 1 }
        try expectEqual(rest, 52, "entries left for the first")
    },
    PosixCase("a directory removed while a stream of it is open yields no old entries") { box in
        try box.makeDirectory("d")
        try box.create("d/file")
        let stream = try DirectoryStream(box.path("d"))
        try box.unlink("d/file")
        try box.removeDirectory("d")
        let names = (try? stream.rest().map(\.name)) ?? []
        try expectEqual(names.filter { $0 != "file" }, [], "names")
    },
]
