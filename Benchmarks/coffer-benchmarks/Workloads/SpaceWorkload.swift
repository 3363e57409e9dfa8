internal import Glibc

/// Measures the space that content takes on disk, after writing it, and after a simulated day of rewriting
/// it.
struct SpaceWorkload {
    let bench: Bench
    let sizes: Sizes
    let seed: UInt64
    let recorder: Recorder

    private static let fileSize = 64 << 10
    /// How long a store must not change to count as settled, in seconds.
    private static let stillness = 15.0

    private var largeSize: Int { sizes.spaceContent / 2 }
    private var fileCount: Int { sizes.spaceContent / 2 / Self.fileSize }

    func run() throws {
        try bench.mount()
        var content = Content(seed: seed)
        try write(&content)
        try settle()
        recorder.record("space.written", try ratio())
        try rewrite(&content)
        sync()
        recorder.record("space.rewritten", try ratio())
        recorder.record("space.settling", try settle())
        recorder.record("space.settled", try ratio())
    }

    private func ratio() throws -> Double {
        try Walk(bench.place.store).allocated / Double(sizes.spaceContent)
    }

    private func write(_ content: inout Content) throws {
        let large = try File(bench.work + "/large", O_WRONLY | O_CREAT | O_EXCL)
        for offset in stride(from: 0, to: largeSize, by: Content.chunkSize) {
            try content.withChunk(page: offset / Content.pageSize) { try large.write($0, at: offset) }
        }
        for file in 0..<fileCount { try writeFile(file, &content) }
        sync()
    }

    private func writeFile(_ number: Int, _ content: inout Content) throws {
        let file = try File("\(bench.work)/f\(number)", O_WRONLY | O_CREAT | O_EXCL)
        try content.withChunk(page: number, pages: Self.fileSize / Content.pageSize) {
            try file.write($0, at: 0)
        }
    }

    /// Overwrites pieces of 4 to 256 KiB of the large file, and replaces old files by new ones.
    private func rewrite(_ content: inout Content) throws {
        var numbers = RandomNumbers(seed: seed &+ 4)
        var names = Array(0..<fileCount)
        var next = fileCount
        let goal = sizes.spaceContent * sizes.rewritings
        var written = 0
        var synced = 0
        let large = try File(bench.work + "/large", O_WRONLY)
        while written < goal {
            if Int.random(in: 0..<5, using: &numbers) < 3 {
                let pages = 1 << Int.random(in: 0...6, using: &numbers)
                let page = Int.random(in: 0..<largeSize / Content.pageSize - pages, using: &numbers)
                try content.withChunk(page: page, generation: 1, pages: pages) {
                    try large.write($0, at: page * Content.pageSize)
                }
                written += pages * Content.pageSize
            } else {
                let place = Int.random(in: 0..<names.count, using: &numbers)
                try check(unlink("\(bench.work)/f\(names[place])"), "unlink")
                try writeFile(next, &content)
                names[place] = next
                next += 1
                written += Self.fileSize
            }
            // Everything reaches the disk from time to time, as during a day.
            if written - synced > goal / 32 {
                try large.sync()
                sync()
                synced = written
            }
        }
    }

    /// Waits until the store settles, and returns the seconds until its last change.
    @discardableResult
    private func settle() throws -> Double {
        try bench.settle(still: Self.stillness, limit: sizes.settling)
    }
}
