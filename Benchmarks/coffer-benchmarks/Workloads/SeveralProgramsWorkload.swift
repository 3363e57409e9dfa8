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
}

/// Tells threads that they are to end.
final class Ending: Sendable {
    private let over = Atomic(false)
    var isOver: Bool { over.load(ordering: .relaxed) }
    func end() { over.store(true, ordering: .relaxed) }
}

/// Counts what several threads do.
final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add(_ more: Int) { count.add(more, ordering: .relaxed) }
}

/// Reads pages of a file at random.
struct RandomReader: ~Copyable {
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
