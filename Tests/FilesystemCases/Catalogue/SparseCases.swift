internal import CFilesystemCalls
internal import Glibc

private let mebibyte = Int64(1 << 20)

/// A file of three mebibytes with data in the first and the last, and a hole between.
///
/// Closes the file once: while a file is being written through FUSE, the kernel may return an old st_blocks
/// until a program closes it (docs/posix.md).
func settleBlocks(of name: String, in box: Sandbox) throws {
    try box.open(name, O_RDONLY).close()
}

private func makeHole(_ box: Sandbox) throws -> Descriptor {
    let file = try box.open("file", O_CREAT | O_RDWR)
    try file.write(pattern(1 << 20), at: 0)
    try file.write(pattern(1 << 20, seed: 2), at: 2 * mebibyte)
    try file.synchronise()
    try settleBlocks(of: "file", in: box)
    return file
}

let sparseCases: [PosixCase] = [
    PosixCase("unsynced writes are data", .holes) { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.truncate(1 << 20)
        try file.write(pattern(100_000), at: 500_000)
        let data = try file.seek(0, LINUX_SEEK_DATA)
        try expect((400_000...500_000).contains(data), "data begins at \(data)")
        try expectEqual(try file.seek(550_000, LINUX_SEEK_DATA), 550_000, "data inside")
        let hole = try file.seek(550_000, LINUX_SEEK_HOLE)
        try expect((600_000...700_000).contains(hole), "the hole behind it begins at \(hole)")
        try expectEqual(try file.seek(0, LINUX_SEEK_HOLE), 0, "the hole in front")
        let new = try box.open("new", O_CREAT | O_RDWR)
        for round in 1...20 {
            try new.write(pattern(10_000), at: Int64(round - 1) * 10_000)
            try expectEqual(try new.seek(0, LINUX_SEEK_DATA), 0, "the data of a new file")
            try expectEqual(try new.seek(0, LINUX_SEEK_HOLE), Int64(round) * 10_000, "its end")
        }
        try expectEqual(try new.contents(), (0..<20).flatMap { _ in pattern(10_000) }, "contents")
    },
    PosixCase("SEEK_DATA and SEEK_HOLE agree with the size, whether or not they know of holes") { box in
        try box.create("file", bytes: pattern(10_000))
        let file = try box.open("file")
        try expectEqual(try file.seek(0, LINUX_SEEK_DATA), 0, "data from the start")
        try expectEqual(try file.seek(0, LINUX_SEEK_HOLE), 10_000, "the hole at the end")
        try expectFailure(ENXIO) { try file.seek(10_000, LINUX_SEEK_DATA) }
        try expectFailure(ENXIO) { try file.seek(10_000, LINUX_SEEK_HOLE) }
        try expectFailure(ENXIO) { try file.seek(20_000, LINUX_SEEK_HOLE) }
    },
    PosixCase("SEEK_HOLE and SEEK_DATA find a hole of one mebibyte", .holes) { box in
        let file = try makeHole(box)
        try expectEqual(try file.seek(0, LINUX_SEEK_HOLE), mebibyte, "the hole")
        try expectEqual(try file.seek(mebibyte, LINUX_SEEK_DATA), 2 * mebibyte, "data behind it")
        try expectEqual(try file.seek(2 * mebibyte, LINUX_SEEK_HOLE), 3 * mebibyte, "the end")
    },
    PosixCase("a hole takes no blocks and reads as zeros", .holes) { box in
        let file = try makeHole(box)
        try expect(try file.status().blocks <= 5000, "the hole takes blocks")
        try expect(try file.status().blocks >= 4096, "the data take none")
        try expectEqual(try file.read(8192, at: mebibyte), [UInt8](repeating: 0, count: 8192), "the hole")
    },
    PosixCase("a file that only grew is one hole", .holes) { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.truncate(mebibyte)
        try expectFailure(ENXIO) { try file.seek(0, LINUX_SEEK_DATA) }
        try expectEqual(try file.seek(0, LINUX_SEEK_HOLE), 0, "the hole")
        try expect(try file.status().blocks < 64, "the hole takes blocks")
    },
    PosixCase("punching a hole frees blocks, zeroes the range and keeps the size", .holes) { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write(pattern(1 << 20))
        try file.synchronise()
        try settleBlocks(of: "file", in: box)
        let before = try file.status().blocks
        try file.allocate(LINUX_FALLOCATE_PUNCH_HOLE, 262_144, 524_288)
        try file.synchronise()
        try expect(try file.status().blocks <= before - 900, "no blocks were freed")
        try expectEqual(try file.status().size, mebibyte, "size")
        var expected = pattern(1 << 20)
        expected.replaceSubrange(262_144..<786_432, with: [UInt8](repeating: 0, count: 524_288))
        try expectEqual(try file.contents(), expected, "contents")
    },
    PosixCase("punching inside, across and beyond pages zeroes exactly the range") { box in
        var expected = pattern(20_000)
        try box.create("file", bytes: expected)
        let file = try box.open("file")
        for (offset, length) in [(100, 50), (4000, 200), (8192, 4096), (12_000, 5000), (19_000, 5000)] {
            do { try file.allocate(LINUX_FALLOCATE_PUNCH_HOLE, Int64(offset), Int64(length)) } catch let error
                as PosixError
            {
                try expectEqual(error.code, EOPNOTSUPP, "the refusal")
                return
            }
            for index in offset..<min(offset + length, 20_000) { expected[index] = 0 }
            try expectEqual(try file.contents(), expected, "contents after \(length) at \(offset)")
        }
    },
    PosixCase("zeroing a range keeps or extends the size as asked") { box in
        var expected = pattern(10_000)
        try box.create("file", bytes: expected)
        let file = try box.open("file")
        do { try file.allocate(LINUX_FALLOCATE_ZERO_RANGE, 1000, 5000) } catch let error as PosixError {
            try expectEqual(error.code, EOPNOTSUPP, "the refusal")
            return
        }
        for index in 1000..<6000 { expected[index] = 0 }
        try expectEqual(try file.contents(), expected, "contents")
        let keep = LINUX_FALLOCATE_ZERO_RANGE | LINUX_FALLOCATE_KEEP_SIZE
        try file.allocate(keep, 9000, 5000)
        for index in 9000..<10_000 { expected[index] = 0 }
        try expectEqual(try file.contents(), expected, "contents with the size kept")
        try file.allocate(LINUX_FALLOCATE_ZERO_RANGE, 9500, 2500)
        expected += [UInt8](repeating: 0, count: 2000)
        try expectEqual(try file.contents(), expected, "contents with the size extended")
    },
    PosixCase("fallocate extends a file with zeros and keeps its content") { box in
        try box.create("file", "text")
        let file = try box.open("file")
        do { try file.allocate(0, 0, 10_000) } catch let error as PosixError {
            try expectEqual(error.code, EOPNOTSUPP, "the refusal")
            return
        }
        try expectEqual(
            try file.contents(), Array("text".utf8) + [UInt8](repeating: 0, count: 9996), "contents")
        try file.allocate(0, 0, 100)
        try expectEqual(try file.status().size, 10_000, "size after a smaller range")
    },
    PosixCase("fallocate with FALLOC_FL_KEEP_SIZE keeps the size") { box in
        try box.create("file", "text")
        let file = try box.open("file")
        do { try file.allocate(LINUX_FALLOCATE_KEEP_SIZE, 0, 100_000) } catch let error as PosixError {
            try expectEqual(error.code, EOPNOTSUPP, "the refusal")
            return
        }
        try expectEqual(try file.contents(), Array("text".utf8), "contents")
    },
    PosixCase("fallocate refuses empty and negative ranges, and descriptors for reading") { box in
        try box.create("file", "text")
        let file = try box.open("file")
        try expectFailure(EINVAL) { try file.allocate(0, 0, 0) }
        try expectFailure(EINVAL) { try file.allocate(0, -1, 10) }
        try expectFailure(EBADF) { try box.open("file", O_RDONLY).allocate(0, 0, 10) }
    },
    PosixCase("punching a hole and fallocate that grows advance the modification time", .holes) { box in
        try box.create("file", bytes: pattern(10_000))
        let file = try box.open("file")
        try box.expectTimes("file", advance: [.modified, .changed]) {
            try file.allocate(LINUX_FALLOCATE_PUNCH_HOLE, 0, 4096)
        }
        try box.expectTimes("file", advance: [.modified, .changed]) { try file.allocate(0, 0, 20_000) }
    },
    PosixCase("data written into the middle of a hole stand alone", .holes) { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.truncate(8 * mebibyte)
        try file.write("island", at: 4 * mebibyte + 100)
        try file.synchronise()
        let start = try file.seek(0, LINUX_SEEK_DATA)
        let end = try file.seek(start, LINUX_SEEK_HOLE)
        try expect(start <= 4 * mebibyte + 100 && end >= 4 * mebibyte + 106, "data from \(start) to \(end)")
        try expect(end - start <= mebibyte, "data from \(start) to \(end)")
        try expectEqual(try file.text(6, at: 4 * mebibyte + 100), "island", "contents")
    },
]
