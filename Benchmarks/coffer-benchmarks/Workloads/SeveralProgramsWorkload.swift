internal import Glibc
internal import Synchronization

/// Measures several programs that use one mount at the same time, each by a thread of its own.
struct SeveralProgramsWorkload {
    let bench: Bench
    let sizes: Sizes
    let seed: UInt64
    let recorder: Recorder
    /// The large file, of numbered pages.
    let path: String

    private var pageCount: Int { sizes.largeFile / Content.pageSize }

    func readAtRandom() throws {
        for count in [4, 16] {
            try bench.goCold()
            let (path, pageCount, reads) = (path, pageCount, sizes.randomReads)
            let seed = seed &+ UInt64(count) &* 100
            let watch = Stopwatch()
            try Together.run(count) { index in
                var reader = try RandomReader(path, pageCount, seed: seed &+ UInt64(index))
                for _ in 0..<reads / count { try reader.read() }
            }
            recorder.record("large.random-read-\(count)", Double(reads / count * count) / watch.seconds)
        }
    }

    func append() throws {
        let (work, seed, appends) = (bench.work, seed, sizes.appends / 4)
        let watch = Stopwatch()
        try Together.run(4) { index in
            var content = Content(seed: seed)
            let file = try File("\(work)/appended-\(index)", O_WRONLY | O_CREAT | O_EXCL)
            for page in 0..<appends {
                try content.withChunk(page: page, pages: 1) {
                    try file.write($0, at: page * Content.pageSize)
                }
                try file.sync()
            }
        }
        recorder.record("large.append-4", Double(appends * 4) / watch.seconds)
    }

    /// Renames a file while four programs read at random, on a disk of few operations per second.
    func renameOnSlowDisk() throws {
        try bench.goCold()
        guard let process = bench.process else { return }
        let names = ["\(bench.work)/renamed", "\(bench.work)/renamed-again"]
        do { _ = try File(names[0], O_WRONLY | O_CREAT | O_EXCL) }
        guard let disk = SlowDisk(for: process, on: bench.place.store) else { return }
        defer { withExtendedLifetime(disk) {} }
        let (path, pageCount, seed) = (path, pageCount, seed)
        let ending = Ending()
        var times: [Double] = []
        try Together.run(4) { index in
            var reader = try RandomReader(path, pageCount, seed: seed &+ UInt64(1_000 + index))
            while !ending.isOver { try reader.read() }
        } meanwhile: {
            defer { ending.end() }
            for round in 0..<sizes.slowRenames {
                usleep(10_000)
                let (from, to) = (names[round % 2], names[(round + 1) % 2])
                let watch = Stopwatch()
                try check(rename(from, to), "rename \(from)")
                times.append(watch.seconds * 1e3)
            }
        }
        times.sort()
        recorder.record("large.slow-rename", times[times.count / 2])
        recorder.record("large.slow-rename-p99", times[times.count * 99 / 100])
        recorder.record("large.slow-rename-worst", times[times.count - 1])
    }
}

/// Tells threads that they are to end.
private final class Ending: Sendable {
    private let over = Atomic(false)
    var isOver: Bool { over.load(ordering: .relaxed) }
    func end() { over.store(true, ordering: .relaxed) }
}

/// Reads pages of a file at random.
private struct RandomReader: ~Copyable {
    private let file: File
    private let pageCount: Int
    private let buffer = ReadBuffer(Content.pageSize)
    private var numbers: RandomNumbers

    init(_ path: String, _ pageCount: Int, seed: UInt64) throws {
        file = try File(path, O_RDONLY)
        // As fio does, so that the kernel reads only these pages.
        posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_RANDOM)
        self.pageCount = pageCount
        numbers = RandomNumbers(seed: seed)
    }

    mutating func read() throws {
        let page = Int.random(in: 0..<pageCount, using: &numbers)
        let count = try file.read(buffer.bytes, at: page * Content.pageSize)
        // Each page begins with its number.
        guard count == Content.pageSize, buffer.bytes.load(as: UInt64.self) >> 16 == UInt64(page) else {
            throw Failure("page \(page) of \(file.path) is wrong")
        }
    }
}
