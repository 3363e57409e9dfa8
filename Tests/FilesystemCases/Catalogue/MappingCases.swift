internal import Glibc

let mappingCases: [PosixCase] = [
    PosixCase("a mapping shows the content of the file") { box in
        let bytes = pattern(10_000)
        try box.create("file", bytes: bytes)
        let mapping = try Mapping(try box.open("file", O_RDONLY), length: 10_000, writable: false)
        try expectEqual(mapping.read(10_000), bytes, "bytes")
    },
    PosixCase("read returns bytes written to a shared mapping") { box in
        try box.create("file", bytes: [UInt8](repeating: 0, count: 8192))
        let file = try box.open("file")
        let mapping = try Mapping(file, length: 8192)
        mapping.write("mapped", at: 4093)
        try expectEqual(try file.text(6, at: 4093), "mapped", "before msync")
        try mapping.synchronise()
        try expectEqual(try box.open("file", O_RDONLY).text(6, at: 4093), "mapped", "after msync")
    },
    PosixCase("a shared mapping shows the effect of write") { box in
        try box.create("file", bytes: [UInt8](repeating: 0, count: 8192))
        let file = try box.open("file")
        let mapping = try Mapping(file, length: 8192)
        try expectEqual(mapping.text(3, at: 4095), "\0\0\0", "before")
        try file.write("new", at: 4095)
        try expectEqual(mapping.text(3, at: 4095), "new", "after")
        try box.open("file", O_WRONLY).write("other", at: 100)
        try expectEqual(mapping.text(5, at: 100), "other", "by another descriptor")
    },
    PosixCase("two shared mappings of one file show each other's writes") { box in
        try box.create("file", bytes: [UInt8](repeating: 0, count: 4096))
        let first = try Mapping(try box.open("file"), length: 4096)
        let second = try Mapping(try box.open("file"), length: 4096)
        first.write("one", at: 10)
        try expectEqual(second.text(3, at: 10), "one", "in the second")
        second.write("two", at: 20)
        try expectEqual(first.text(3, at: 20), "two", "in the first")
    },
    PosixCase("a write to a private mapping stays private") { box in
        try box.create("file", "original")
        let file = try box.open("file")
        let mapping = try Mapping(file, length: 4096, shared: false)
        mapping.write("private!", at: 0)
        try expectEqual(mapping.text(8), "private!", "the mapping")
        try expectEqual(try file.text(), "original", "the file")
    },
    PosixCase("a mapping outlives its descriptor and its name") { box in
        try box.create("file", bytes: pattern(4096))
        let file = try box.open("file")
        let mapping = try Mapping(file, length: 4096)
        try file.close()
        try box.unlink("file")
        try expectEqual(mapping.read(4096), pattern(4096), "bytes")
        mapping.write("x", at: 0)
        try mapping.synchronise()
    },
    PosixCase("bytes written to a mapping are in the file after it was unmapped and closed") { box in
        try box.create("file", bytes: [UInt8](repeating: 0, count: 20_000))
        do {
            let mapping = try Mapping(try box.open("file"), length: 20_000)
            for offset in stride(from: 0, to: 20_000, by: 999) { mapping.write("m", at: offset) }
        }
        var expected = [UInt8](repeating: 0, count: 20_000)
        for offset in stride(from: 0, to: 20_000, by: 999) { expected[offset] = UInt8(ascii: "m") }
        try expectEqual(try box.contents("file"), expected, "contents")
        try box.open("file", O_RDONLY).synchronise()
        try expectEqual(try box.contents("file"), expected, "contents after fsync")
    },
    PosixCase("a mapped page past the end of the file is zeros and adds no size") { box in
        try box.create("file", "abc")
        let mapping = try Mapping(try box.open("file"), length: 4096)
        try expectEqual(mapping.read(10), Array("abc".utf8) + [0, 0, 0, 0, 0, 0, 0], "bytes")
        mapping.write("zzz", at: 100)
        try mapping.synchronise()
        try expectEqual(try box.status("file").size, 3, "size")
        try expectEqual(try box.text("file"), "abc", "contents")
    },
    PosixCase("bytes written to a mapping past the end do not appear when the file grows") { box in
        try box.create("file", "abc")
        do {
            let mapping = try Mapping(try box.open("file"), length: 4096)
            mapping.write("zzz", at: 100)
            try mapping.synchronise()
        }
        try box.truncate("file", 200)
        try expectEqual(
            try box.contents("file"), Array("abc".utf8) + [UInt8](repeating: 0, count: 197), "contents")
    },
    PosixCase("a mapping shows zeros where the file was truncated and extended") { box in
        try box.create("file", bytes: pattern(8192))
        let file = try box.open("file")
        let mapping = try Mapping(file, length: 8192)
        _ = mapping.read(8192)
        try file.truncate(1000)
        try file.truncate(8192)
        let expected = Array(pattern(8192)[..<1000]) + [UInt8](repeating: 0, count: 7192)
        try expectEqual(mapping.read(8192), expected, "bytes")
    },
    PosixCase("a mapping shows a punched hole and a copied range", .holes) { box in
        try box.create("file", bytes: pattern(16_384))
        let file = try box.open("file")
        let mapping = try Mapping(file, length: 16_384)
        _ = mapping.read(16_384)
        try file.allocate(0x03, 4096, 4096)
        try expectEqual(mapping.read(4096, at: 4096), [UInt8](repeating: 0, count: 4096), "the hole")
        try file.copyRange(from: 0, to: file, at: 8192, 4096)
        try expectEqual(mapping.read(4096, at: 8192), Array(pattern(4096)), "the copy")
    },
    PosixCase("mapping needs a readable descriptor, and a writable one for shared writes (EACCES)") { box in
        try box.create("file", "text")
        try expectFailure(EACCES) { try Mapping(try box.open("file", O_WRONLY), length: 4096) }
        try expectFailure(EACCES) { try Mapping(try box.open("file", O_RDONLY), length: 4096) }
        _ = try Mapping(try box.open("file", O_RDONLY), length: 4096, shared: false)
    },
    PosixCase("a write to a mapping, followed by msync, advances the modification time") { box in
        try box.create("file", bytes: pattern(4096))
        let mapping = try Mapping(try box.open("file"), length: 4096)
        try box.expectTimes("file", advance: [.modified, .changed]) {
            mapping.write("x", at: 0)
            try mapping.synchronise()
        }
    },
    PosixCase("the middle of a large file maps at its offset") { box in
        let bytes = pattern(300_000)
        try box.create("file", bytes: bytes)
        let mapping = try Mapping(try box.open("file"), offset: 131_072, length: 8192)
        try expectEqual(mapping.read(8192), Array(bytes[131_072..<139_264]), "bytes")
        mapping.write("X", at: 0)
        try mapping.synchronise()
        try expectEqual(try box.contents("file")[131_072], UInt8(ascii: "X"), "the file")
    },
]
