internal import Glibc

private func copyAll(_ from: Descriptor, _ offset: Int64, _ to: Descriptor, _ target: Int64, _ length: Int)
    throws
{
    var done = 0
    while done < length {
        let count = try from.copyRange(
            from: offset + Int64(done), to: to, at: target + Int64(done), length - done)
        guard count > 0 else { return }
        done += count
    }
}

let copyRangeCases: [PosixCase] = [
    PosixCase("copy_file_range copies between files at any offset and length") { box in
        let bytes = pattern(200_000)
        try box.create("from", bytes: bytes)
        let from = try box.open("from", O_RDONLY)
        for (offset, target, length) in [(0, 0, 200_000), (1, 5, 4096), (4095, 65_537, 70_000), (100, 0, 1)] {
            try box.create("to", bytes: [UInt8](repeating: 0xFF, count: 1000))
            let to = try box.open("to")
            try copyAll(from, Int64(offset), to, Int64(target), length)
            var expected = [UInt8](repeating: 0xFF, count: 1000)
            if expected.count < target + length {
                expected += [UInt8](repeating: 0, count: target + length - expected.count)
            }
            expected.replaceSubrange(target..<target + length, with: bytes[offset..<offset + length])
            try expectEqual(try box.contents("to"), expected, "\(length) bytes from \(offset) to \(target)")
            try box.unlink("to")
        }
    },
    PosixCase("copy_file_range stops at the end of the source") { box in
        try box.create("from", "abcdef")
        try box.create("to")
        let from = try box.open("from", O_RDONLY)
        let to = try box.open("to")
        try expectEqual(try from.copyRange(from: 4, to: to, at: 0, 100), 2, "copied")
        try expectEqual(try from.copyRange(from: 6, to: to, at: 2, 100), 0, "copied at the end")
        try expectEqual(try box.text("to"), "ef", "contents")
    },
    PosixCase("copy_file_range inside one file: apart it copies, overlapping fails with EINVAL") { box in
        try box.create("file", "abcdefgh")
        let file = try box.open("file")
        try copyAll(file, 0, file, 4, 4)
        try expectEqual(try box.text("file"), "abcdabcd", "contents")
        try expectFailure(EINVAL) { try file.copyRange(from: 0, to: file, at: 2, 4) }
    },
    PosixCase("copy_file_range needs a readable source and a writable target") { box in
        try box.create("from", "text")
        try box.create("to")
        let readable = try box.open("from", O_RDONLY)
        let writable = try box.open("to", O_WRONLY)
        try expectFailure(EBADF) { try writable.copyRange(from: 0, to: writable, at: 0, 1) }
        try expectFailure(EBADF) { try readable.copyRange(from: 0, to: readable, at: 0, 1) }
        let appending = try box.open("to", O_WRONLY | O_APPEND)
        try expectFailure(EBADF) { try readable.copyRange(from: 0, to: appending, at: 0, 1) }
    },
    PosixCase("copy_file_range refuses directories") { box in
        try box.makeDirectory("d")
        try box.create("to")
        let directory = try box.open("d", O_RDONLY | O_DIRECTORY)
        let to = try box.open("to")
        try expectFailure(EISDIR, EINVAL) { try directory.copyRange(from: 0, to: to, at: 0, 1) }
    },
    PosixCase("copy_file_range advances the times of the target alone") { box in
        try box.create("from", "text")
        try box.create("to")
        let from = try box.open("from", O_RDONLY)
        let to = try box.open("to")
        try box.expectTimes("from", advance: []) {
            try box.expectTimes("to", advance: [.modified, .changed]) { try copyAll(from, 0, to, 0, 4) }
        }
    },
    PosixCase("copy_file_range sees fresh writes, and readers see fresh copies") { box in
        let from = try box.open("from", O_CREAT | O_RDWR)
        let to = try box.open("to", O_CREAT | O_RDWR)
        for round in 0..<20 {
            try from.write("round \(round)    ", at: 0)
            try copyAll(from, 0, to, 0, 10)
            try expectEqual(try to.text(10), String("round \(round)    ".prefix(10)), "contents")
        }
    },
]
