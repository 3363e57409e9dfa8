internal import Glibc

/// Measures one large file: sequentially, at random, and at the rate of a player.
struct LargeFileWorkload {
    let bench: Bench
    let sizes: Sizes
    let seed: UInt64
    let recorder: Recorder

    private var path: String { bench.work + "/large" }
    private var pageCount: Int { sizes.largeFile / Content.pageSize }

    private var several: SeveralProgramsWorkload {
        SeveralProgramsWorkload(bench: bench, sizes: sizes, seed: seed &+ 4, recorder: recorder, path: path)
    }

    func run(verifying: Bool) throws {
        try bench.mount()
        var content = Content(seed: seed)
        try write(&content)
        try readInOrder()
        if PageCache.canBeDropped {
            try play()
            try readAtRandom()
            try several.readAtRandom()
        }
        let generations = try writeAtRandom(&content)
        try append(&content)
        try several.append()
        if verifying { try verify(&content, generations) }
        bench.noteMemory()
        if bench.cpuSeconds != nil { recorder.record("large.memory", bench.peakMemory / 1_048_576) }
    }

    private func write(_ content: inout Content) throws {
        let before = bench.cpuSeconds
        let watch = Stopwatch()
        do {
            let file = try File(path, O_WRONLY | O_CREAT | O_EXCL)
            for offset in stride(from: 0, to: sizes.largeFile, by: Content.chunkSize) {
                try content.withChunk(page: offset / Content.pageSize) { try file.write($0, at: offset) }
            }
            try file.sync()
        }
        recorder.record("large.write", Double(sizes.largeFile) / 1e6 / watch.seconds)
        recordCPU("large.write-cpu", since: before)
    }

    private func recordCPU(_ measure: String, since before: Double?) {
        guard let before, let after = bench.cpuSeconds else { return }
        recorder.record(measure, (after - before) / (Double(sizes.largeFile) / 1_073_741_824))
    }

    private func readInOrder() throws {
        try bench.goCold()
        let before = bench.cpuSeconds
        let cold = try readAll()
        if PageCache.canBeDropped {
            recorder.record("large.read-cold", cold)
            recordCPU("large.read-cpu", since: before)
        }
        recorder.record("large.read-warm", try readAll())
    }

    /// Reads the whole file; returns MB/s.
    private func readAll() throws -> Double {
        let buffer = ReadBuffer(Content.chunkSize)
        let watch = Stopwatch()
        let file = try File(path, O_RDONLY)
        var offset = 0
        while true {
            let count = try file.read(buffer.bytes, at: offset)
            offset += count
            if count < buffer.bytes.count { break }
        }
        let seconds = watch.seconds
        guard offset == sizes.largeFile else { throw Failure("\(path) has \(offset) bytes") }
        return Double(offset) / 1e6 / seconds
    }

    /// Seeks, and then reads at the rate of a film.
    private func play() throws {
        try bench.goCold()
        var numbers = RandomNumbers(seed: seed &+ 1)
        let buffer = ReadBuffer(Sizes.playedPiece)
        let file = try File(path, O_RDONLY)
        let pieces = Int(sizes.playSeconds * Sizes.playedRate) / Sizes.playedPiece
        let interval = Double(Sizes.playedPiece) / Sizes.playedRate
        let places = (sizes.largeFile / Sizes.playedPiece - pieces) / 2
        var seeks: [Double] = []
        var late = 0
        for _ in 0..<sizes.seeks {
            let start = Int.random(in: 0..<places, using: &numbers) * 2 * Sizes.playedPiece
            let watch = Stopwatch()
            for piece in 0..<pieces {
                // Each piece is due when the previous one starts to play.
                watch.sleep(until: Double(piece) * interval)
                let count = try file.read(buffer.bytes, at: start + piece * Sizes.playedPiece)
                guard count == Sizes.playedPiece else { throw Failure("\(path) is too short") }
                if piece == 0 {
                    seeks.append(watch.seconds * 1e3)
                } else if watch.seconds > Double(piece + 1) * interval {
                    late += 1
                }
            }
        }
        seeks.sort()
        recorder.record("large.seek", seeks[seeks.count / 2])
        recorder.record("large.seek-worst", seeks.last ?? 0)
        recorder.record("large.late", Double(late))
    }

    private func readAtRandom() throws {
        try bench.goCold()
        var numbers = RandomNumbers(seed: seed &+ 2)
        let places = (0..<sizes.randomReads).map { _ in Int.random(in: 0..<pageCount, using: &numbers) }
        let buffer = ReadBuffer(Content.pageSize)
        let file = try File(path, O_RDONLY)
        // As fio does, so that the kernel reads only these pages.
        posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_RANDOM)
        let watch = Stopwatch()
        for place in places {
            let count = try file.read(buffer.bytes, at: place * Content.pageSize)
            guard count == Content.pageSize else { throw Failure("\(path) is too short") }
        }
        recorder.record("large.random-read", Double(places.count) / watch.seconds)
    }

    /// Rewrites random pages, and returns their numbers.
    private func writeAtRandom(_ content: inout Content) throws -> Set<Int> {
        var numbers = RandomNumbers(seed: seed &+ 3)
        let places = (0..<sizes.randomWrites).map { _ in Int.random(in: 0..<pageCount, using: &numbers) }
        let file = try File(path, O_WRONLY)
        let watch = Stopwatch()
        for place in places {
            try content.withChunk(page: place, generation: 1, pages: 1) {
                try file.write($0, at: place * Content.pageSize)
            }
        }
        try file.sync()
        recorder.record("large.random-write", Double(places.count) / watch.seconds)
        return Set(places)
    }

    private func append(_ content: inout Content) throws {
        let file = try File(bench.work + "/appended", O_WRONLY | O_CREAT | O_EXCL)
        let watch = Stopwatch()
        for index in 0..<sizes.appends {
            try content.withChunk(page: index, pages: 1) { try file.write($0, at: index * Content.pageSize) }
            try file.sync()
        }
        recorder.record("large.append", Double(sizes.appends) / watch.seconds)
    }

    private func verify(_ content: inout Content, _ generations: Set<Int>) throws {
        try bench.goCold()
        let pagesPerChunk = Content.chunkSize / Content.pageSize
        try readPages("large", pageCount) { page, bytes in
            let isNew = generations.contains(page)
            let place = isNew ? 0 : page % pagesPerChunk
            return content.matches(bytes, page: page, generation: isNew ? 1 : 0, place: place)
        }
        try readPages("appended", sizes.appends) { page, bytes in content.matches(bytes, page: page) }
    }

    private func readPages(
        _ name: String, _ count: Int, isRight: (Int, UnsafeRawBufferPointer) -> Bool
    ) throws {
        let file = try File("\(bench.work)/\(name)", O_RDONLY)
        let buffer = ReadBuffer(Content.pageSize)
        for page in 0..<count {
            let length = try file.read(buffer.bytes, at: page * Content.pageSize)
            guard length == Content.pageSize, isRight(page, UnsafeRawBufferPointer(buffer.bytes)) else {
                throw Failure("\(bench.system.id) returned wrong content: \(name), page \(page)")
            }
        }
        guard try file.read(buffer.bytes, at: count * Content.pageSize) == 0 else {
            throw Failure("\(bench.system.id): \(name) is too long")
        }
    }
}
