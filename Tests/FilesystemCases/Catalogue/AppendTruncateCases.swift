internal import Glibc

let appendCases: [PosixCase] = [
    PosixCase("O_APPEND writes at the end wherever the position is") { box in
        try box.create("file", "abc")
        let file = try box.open("file", O_RDWR | O_APPEND)
        try file.seek(0)
        try file.write("def")
        try expectEqual(try file.seek(0, SEEK_CUR), 6, "position")
        try expectEqual(try box.text("file"), "abcdef", "contents")
    },
    PosixCase("two appenders never overwrite each other") { box in
        let first = try box.open("file", O_CREAT | O_WRONLY | O_APPEND)
        let second = try box.open("file", O_WRONLY | O_APPEND)
        for round in 0..<100 {
            try first.write("a\(round % 10)")
            try second.write("b\(round % 10)")
        }
        try expectEqual(
            try box.text("file"), (0..<100).map { "a\($0 % 10)b\($0 % 10)" }.joined(), "contents")
    },
    PosixCase("O_APPEND follows a truncation by another descriptor") { box in
        let file = try box.open("file", O_CREAT | O_WRONLY | O_APPEND)
        try file.write("abcdef")
        try box.truncate("file", 2)
        try file.write("X")
        try expectEqual(try box.text("file"), "abX", "contents")
    },
    PosixCase("pwrite with O_APPEND appends whatever the offset (Linux)") { box in
        try box.create("file", "abc")
        try box.open("file", O_WRONLY | O_APPEND).write("def", at: 0)
        try expectEqual(try box.text("file"), "abcdef", "contents")
    },
    PosixCase("four threads appending lines to one file lose and tear none", .root) { box in
        try box.create("file")
        try box.changeMode("file", 0o666)
        let users: [User] = (0..<4).map { User(uid: 10_001 + UInt32($0), gid: 10_001) }
        try actingAtOnce(as: users) { user in
            let file = try box.open("file", O_WRONLY | O_APPEND)
            for line in 0..<100 { try file.write("\(user.uid):\(line):padding to be torn\n") }
        }
        let lines = try box.text("file").split(separator: "\n").map(String.init)
        let expected = users.flatMap { user in (0..<100).map { "\(user.uid):\($0):padding to be torn" } }
        try expectEqual(lines.sorted(), expected.sorted(), "lines")
    },
]

let truncateCases: [PosixCase] = [
    PosixCase("truncate shortens a file, and extends it with zeros") { box in
        try box.create("file", "abcdef")
        try box.truncate("file", 3)
        try box.truncate("file", 6)
        try expectEqual(try box.contents("file"), Array("abc".utf8) + [0, 0, 0], "contents")
    },
    PosixCase("bytes cut off never come back, at any alignment") { box in
        for (cut, grown) in [(1, 4096), (4095, 8192), (4097, 20_000), (65_537, 131_072), (65_536, 65_540)] {
            let bytes = pattern(140_000)
            try box.create("f\(cut)", bytes: bytes)
            try box.truncate("f\(cut)", Int64(cut))
            try box.truncate("f\(cut)", Int64(grown))
            let expected = Array(bytes[..<cut]) + [UInt8](repeating: 0, count: grown - cut)
            try expectEqual(try box.contents("f\(cut)"), expected, "cut at \(cut), grown to \(grown)")
        }
    },
    PosixCase("a write past the end after a truncation leaves zeros between") { box in
        try box.create("file", bytes: pattern(10_000))
        let file = try box.open("file")
        try file.truncate(5000)
        try file.write("end", at: 9000)
        let gap = try file.read(4000, at: 5000)
        try expectEqual(gap, [UInt8](repeating: 0, count: 4000), "the gap")
    },
    PosixCase("ftruncate is seen by stat and by other descriptors at once") { box in
        try box.create("file", "abcdef")
        let other = try box.open("file", O_RDONLY)
        try box.open("file").truncate(2)
        try expectEqual(try other.status().size, 2, "fstat")
        try expectEqual(try box.status("file").size, 2, "stat")
        try expectEqual(try other.text(), "ab", "contents")
    },
    PosixCase("truncate advances the modification and change times") { box in
        try box.create("file", "abcdef")
        try box.expectTimes("file", advance: [.modified, .changed]) { try box.truncate("file", 3) }
        try box.expectTimes("file", advance: [.modified, .changed]) { try box.truncate("file", 100) }
    },
    PosixCase("ftruncate to the same size advances the times (Linux)") { box in
        try box.create("file", "abcdef")
        let file = try box.open("file")
        try box.expectTimes("file", advance: [.modified, .changed]) { try file.truncate(6) }
    },
    PosixCase("truncate refuses directories, negative sizes, missing names and links to nothing") { box in
        try box.makeDirectory("d")
        try box.create("file", "abc")
        try box.symlink("nothing", "link")
        try expectFailure(EISDIR) { try box.truncate("d", 0) }
        try expectFailure(EINVAL) { try box.truncate("file", -1) }
        try expectFailure(ENOENT) { try box.truncate("missing", 0) }
        try expectFailure(ENOENT) { try box.truncate("link", 0) }
        try expectFailure(ENOTDIR) { try box.truncate("file/x", 0) }
    },
    PosixCase("truncate follows a symbolic link") { box in
        try box.create("file", "abcdef")
        try box.symlink("file", "link")
        try box.truncate("link", 2)
        try expectEqual(try box.text("file"), "ab", "contents")
    },
    PosixCase("truncate needs write permission on the file", .root) { box in
        try box.create("file", "abcdef", mode: 0o644)
        try box.changeOwner("file", 10_001, 10_001)
        try expectFailure(EACCES) { try acting(as: .bob) { try box.truncate("file", 0) } }
        try acting(as: .alice) { try box.truncate("file", 1) }
        try expectEqual(try box.status("file").size, 1, "size")
    },
    PosixCase("ftruncate works on a descriptor for writing after the mode forbids writing", .root) { box in
        try box.create("file", "abcdef", mode: 0o600)
        try box.changeOwner("file", 10_001, 10_001)
        try acting(as: .alice) {
            let file = try box.open("file")
            try box.changeMode("file", 0o400)
            try file.truncate(2)
            try expectFailure(EACCES) { try box.truncate("file", 1) }
        }
        try expectEqual(try box.status("file").size, 2, "size")
    },
    PosixCase("a file of several gigabytes takes little space and keeps its ends", .holes) { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.truncate(5 << 30)
        try file.write("middle", at: (4 << 30) - 3)
        try expectEqual(try file.text(6, at: (4 << 30) - 3), "middle", "across four gigabytes")
        try expectEqual(try file.read(4, at: (5 << 30) - 4), [0, 0, 0, 0], "the end")
        try expect(try file.status().blocks < 20_480, "the file takes its whole size")
    },
    PosixCase("a size beyond what the filesystem or the process allows is refused") { box in
        try box.create("file", "abc")
        do { try box.truncate("file", Int64.max) } catch let error as PosixError {
            try expect([EFBIG, EINVAL].contains(error.code), "refused with \(error)")
            try expectEqual(try box.text("file"), "abc", "contents")
        }
    },
]
