internal import CFilesystemCalls
internal import Glibc

let readWriteCases: [PosixCase] = [
    PosixCase("read returns what write wrote") { box in
        let bytes = pattern(300_000)
        let file = try box.open("file", O_CREAT | O_RDWR)
        try expectEqual(try file.write(bytes), bytes.count, "written")
        try expectEqual(try file.contents(), bytes, "through the same descriptor")
        try expectEqual(try box.contents("file"), bytes, "through another descriptor")
    },
    PosixCase("reading at and past the end yields nothing") { box in
        try box.create("file", "text")
        let file = try box.open("file", O_RDONLY)
        try expectEqual(try file.read(10, at: 4), [], "at the end")
        try expectEqual(try file.read(10, at: 1 << 40), [], "far behind the end")
        try expectEqual(try file.read(10, at: 2), Array("xt".utf8), "across the end")
    },
    PosixCase("writing past the end leaves zeros between") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write("a", at: 0)
        try file.write("z", at: 10_000)
        var expected = [UInt8](repeating: 0, count: 10_001)
        (expected[0], expected[10_000]) = (UInt8(ascii: "a"), UInt8(ascii: "z"))
        try expectEqual(try file.contents(), expected, "contents")
    },
    PosixCase("writes at every alignment around 4,096 and 65,536 keep their neighbours") { box in
        var expected = pattern(140_000)
        try box.create("file", bytes: expected)
        let file = try box.open("file")
        for offset in [1, 15, 16, 511, 4094, 4095, 4096, 4097, 8191, 32_767, 32_768, 65_535, 65_536, 131_071]
        {
            for length in [1, 2, 17, 4096, 4097] {
                let bytes = pattern(length, seed: offset + length)
                try file.write(bytes, at: Int64(offset))
                expected.replaceSubrange(offset..<offset + length, with: bytes)
            }
        }
        try expectEqual(try file.contents(), expected, "contents")
    },
    PosixCase("reads at every alignment yield the right bytes") { box in
        let bytes = pattern(140_000)
        try box.create("file", bytes: bytes)
        let file = try box.open("file", O_RDONLY)
        for offset in [0, 1, 4095, 4096, 4097, 32_767, 65_535, 65_536, 131_071] {
            for length in [1, 16, 4095, 4096, 4097, 8000] {
                try expectEqual(
                    try file.read(length, at: Int64(offset)), Array(bytes[offset..<offset + length]),
                    "\(length) bytes at \(offset)")
            }
        }
    },
    PosixCase("pread and pwrite leave the file position alone") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write("abcdef")
        try file.write("XY", at: 0)
        _ = try file.read(3, at: 1)
        try expectEqual(try file.seek(0, SEEK_CUR), 6, "position")
    },
    PosixCase("lseek counts from start, position and end, and refuses a negative result") { box in
        try box.create("file", "abcdef")
        let file = try box.open("file")
        try expectEqual(try file.seek(2, SEEK_SET), 2, "SEEK_SET")
        try expectEqual(try file.seek(2, SEEK_CUR), 4, "SEEK_CUR")
        try expectEqual(try file.seek(-1, SEEK_END), 5, "SEEK_END")
        try expectEqual(try file.seek(100, SEEK_END), 106, "behind the end")
        try expectFailure(EINVAL) { try file.seek(-1, SEEK_SET) }
        try expectEqual(try file.seek(0, SEEK_CUR), 106, "position after the failure")
        try expectEqual(try box.status("file").size, 6, "seeking changes no size")
    },
    PosixCase("SEEK_END sees a size that another descriptor changed") { box in
        try box.create("file", "abc")
        let file = try box.open("file")
        try expectEqual(try file.seek(0, SEEK_END), 3, "before")
        try box.open("file").write("long text", at: 0)
        try expectEqual(try file.seek(0, SEEK_END), 9, "after")
    },
    PosixCase("negative offsets are refused with EINVAL") { box in
        try box.create("file", "abc")
        let file = try box.open("file")
        try expectFailure(EINVAL) { try file.read(1, at: -1) }
        try expectFailure(EINVAL) { try file.write("x", at: -1) }
    },
    PosixCase("a write of no bytes changes neither size nor times") { box in
        try box.create("file", "abc")
        let file = try box.open("file")
        try box.expectTimes("file", advance: []) {
            try expectEqual(try file.write([], at: 100), 0, "written")
        }
        try expectEqual(try file.status().size, 3, "size")
    },
    PosixCase("write advances the modification and change times, not those of the directory") { box in
        try box.create("file", "abc")
        let file = try box.open("file")
        try box.expectTimes("", advance: []) {
            try box.expectTimes("file", advance: [.modified, .changed]) { try file.write("x", at: 0) }
        }
    },
    PosixCase("fstat, stat and another descriptor agree on the size right after a write") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        let other = try box.open("file", O_RDONLY)
        for size in stride(from: Int64(1000), through: 9000, by: 1000) {
            try file.write(pattern(1000), at: size - 1000)
            try expectEqual(try file.status().size, size, "fstat")
            try expectEqual(try box.status("file").size, size, "stat")
            try expectEqual(try other.status().size, size, "other descriptor")
        }
    },
    PosixCase("a write is seen at once by a descriptor that had read the old bytes") { box in
        try box.create("file", bytes: pattern(8192))
        let reader = try box.open("file", O_RDONLY)
        _ = try reader.contents()
        try box.open("file", O_WRONLY).write("new", at: 4094)
        try expectEqual(try reader.text(3, at: 4094), "new", "contents")
    },
    PosixCase("a write through one hard link is read through the other") { box in
        try box.create("file", "old")
        try box.link("file", "link")
        let reader = try box.open("link", O_RDONLY)
        try expectEqual(try reader.text(), "old", "before")
        try box.open("file", O_WRONLY).write("new", at: 0)
        try expectEqual(try reader.text(), "new", "after")
        try expectEqual(try box.status("link").size, 3, "size")
    },
    PosixCase("O_DIRECT and buffered access see the same bytes") { box in
        try box.create("file", bytes: pattern(16_384))
        let direct: Descriptor
        do { direct = try box.open("file", O_RDONLY | LINUX_O_DIRECT) } catch let error as PosixError {
            try expectEqual(error.code, EINVAL, "the refusal")
            throw Lacking(requirement: .directAccess)
        }
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: 8192, alignment: 4096)
        defer { buffer.deallocate() }
        try expectEqual(try check("pread", Glibc.pread(direct.number, buffer, 8192, 4096)), 8192, "read")
        let bytes = Array(UnsafeRawBufferPointer(start: buffer, count: 8192))
        try expectEqual(bytes, Array(pattern(16_384)[4096..<12_288]), "contents")
    },
    PosixCase("four threads writing parts of one file lose nothing", .root) { box in
        try box.create("file", bytes: [UInt8](repeating: 0, count: 262_144))
        try box.changeMode("file", 0o666)
        let users: [User] = (0..<4).map { User(uid: 10_001 + UInt32($0), gid: 10_001) }
        try actingAtOnce(as: users) { user in
            let part = Int64(user.uid - 10_001)
            let file = try box.open("file")
            for block in 0..<64 {
                let offset = Int64(block) * 4096 + part * 1024
                try file.write([UInt8](repeating: UInt8(part + 1), count: 1024), at: offset)
            }
        }
        let block = (1...4).flatMap { [UInt8](repeating: UInt8($0), count: 1024) }
        try expectEqual(try box.contents("file"), (0..<64).flatMap { _ in block }, "contents")
    },
]
