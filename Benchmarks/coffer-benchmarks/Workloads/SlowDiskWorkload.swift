internal import Glibc

/// Measures small operations while other programs keep the disk busy, which does few operations per second.
///
/// The limit is one of the daemon alone; the programs that use the mount are not limited.
struct SlowDiskWorkload {
    let bench: Bench
    let sizes: Sizes
    let seed: UInt64
    let recorder: Recorder

    /// The number of files that `ls -l` lists.
    private static let listedCount = 1_000
    /// The number of directories that get their files in turn, so that the disk has no directory in one piece.
    private static let directoryCount = 8
    /// After how many rounds everything that they need is in memory, and measuring begins.
    private static let warmUpCount = 20
    /// The pause between two small operations, in microseconds.
    private static let pause: UInt32 = 5_000

    /// What keeps the disk busy.
    private enum Load: String, CaseIterable {
        /// Four programs read at random.
        case reads
        /// One appends and syncs.
        case syncs
    }

    private var large: String { bench.work + "/large" }
    private var listed: String { directories[0] }
    private var directories: [String] { (0..<Self.directoryCount).map { "\(bench.work)/listed-\($0)" } }
    private var byteCount: Int { sizes.largeFile / 4 }

    func run() throws {
        try bench.mount()
        try fill()
        guard try onSlowDisk({ recorder.record("slow.list", try list()) }) else { return }
        for load in Load.allCases {
            try onSlowDisk { try beside(load) { recorder.record("slow.list-\(load)", try list()) } }
        }
        for load in Load.allCases {
            try onSlowDisk { try beside(load) { try operate(load) } }
        }
    }

    private func fill() throws {
        var content = Content(seed: seed)
        let file = try File(large, O_WRONLY | O_CREAT | O_EXCL)
        for offset in stride(from: 0, to: byteCount, by: Content.chunkSize) {
            try content.withChunk(page: offset / Content.pageSize) { try file.write($0, at: offset) }
        }
        try file.sync()
        for directory in directories { try check(mkdir(directory, 0o755), "mkdir \(directory)") }
        for number in 0..<Self.listedCount {
            for directory in directories {
                _ = try File("\(directory)/file \(number)", O_WRONLY | O_CREAT | O_EXCL)
            }
        }
        try check(mkdir(bench.work + "/cached", 0o755), "mkdir")
    }

    /// Mounts anew, with cold caches, and limits the daemon while `body` runs.
    ///
    /// - Returns: False where the machine has no such limits; `body` has not run then.
    @discardableResult
    private func onSlowDisk(_ body: () throws -> Void) throws -> Bool {
        try bench.goCold()
        guard let process = bench.process, let disk = SlowDisk(for: process, on: bench.place.store) else {
            return false
        }
        defer { withExtendedLifetime(disk) {} }
        try body()
        return true
    }

    /// Runs `body` while other programs keep the disk busy.
    private func beside(_ load: Load, _ body: () throws -> Void) throws {
        let (work, path, pageCount, seed) = (bench.work, large, byteCount / Content.pageSize, seed)
        let ending = Ending()
        try Together.run(load == .reads ? 4 : 1) { index in
            switch load {
            case .reads:
                var reader = try RandomReader(path, pageCount, seed: seed &+ UInt64(1_000 + index))
                while !ending.isOver { try reader.read() }
            case .syncs:
                var content = Content(seed: seed)
                let file = try File("\(work)/appended", O_WRONLY | O_CREAT)
                var page = 0
                while !ending.isOver {
                    try content.withChunk(page: page, pages: 1) {
                        try file.write($0, at: page * Content.pageSize)
                    }
                    try file.sync()
                    page += 1
                }
            }
        } meanwhile: {
            defer { ending.end() }
            usleep(500_000)
            try body()
        }
    }

    /// Lists a directory; returns the seconds.
    private func list() throws -> Double {
        // The program itself need not be read from the disk.
        try Command("ls", ["-l", bench.work + "/cached"]).run()
        let watch = Stopwatch()
        let text = try Command("ls", ["-l", listed], environment: ["LC_ALL": "C"]).run()
        let seconds = watch.seconds
        // The first line is a total.
        guard text.split(separator: "\n").count == Self.listedCount + 1 else {
            throw Failure("\(bench.system.id) lists \(text.count) bytes")
        }
        return seconds
    }

    /// Renames a file, looks at it, and creates another, again and again.
    private func operate(_ load: Load) throws {
        let names = ["\(bench.work)/cached/one", "\(bench.work)/cached/other"]
        var content = Content(seed: seed)
        do { _ = try File(names[0], O_WRONLY | O_CREAT) }
        var (renames, stats, creates) = ([Double](), [Double](), [Double]())
        func time(_ times: inout [Double], _ operation: () throws -> Void) throws {
            usleep(Self.pause)
            let watch = Stopwatch()
            try operation()
            times.append(watch.seconds * 1e3)
        }
        for round in 0..<Self.warmUpCount + sizes.slowRounds {
            if round == Self.warmUpCount { (renames, stats, creates) = ([], [], []) }
            let (from, to) = (names[round % 2], names[(round + 1) % 2])
            try time(&renames) { try check(rename(from, to), "rename \(from)") }
            try time(&stats) {
                var status = stat()
                try check(stat(to, &status), "stat \(to)")
            }
            try time(&creates) {
                let path = "\(bench.work)/cached/\(load)-\(round)"
                let file = try File(path, O_WRONLY | O_CREAT | O_EXCL)
                try content.withChunk(page: round, pages: 1) { try file.write($0, at: 0) }
            }
        }
        record("rename-\(load)", &renames)
        record("stat-\(load)", &stats)
        record("create-\(load)", &creates)
    }

    private func record(_ name: String, _ times: inout [Double]) {
        times.sort()
        recorder.record("slow.\(name)", times[times.count / 2])
        recorder.record("slow.\(name)-p99", times[times.count * 99 / 100])
        recorder.record("slow.\(name)-worst", times[times.count - 1])
    }
}
