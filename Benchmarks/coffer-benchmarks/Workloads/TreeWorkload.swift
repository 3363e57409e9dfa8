internal import Glibc

/// Measures common developer tools on a source tree.
struct TreeWorkload {
    let bench: Bench
    let tree: SourceTree
    let sizes: Sizes
    let recorder: Recorder

    private var directory: String { bench.work + "/tree" }

    func run(verifying: Bool) throws {
        try bench.mount()
        try check(mkdir(directory, 0o755), "mkdir \(directory)")
        // Loads the archive into the page cache for every system.
        try Command("md5sum", [tree.archive]).run()
        try time("tree.untar", Command("tar", ["-xf", tree.archive, "-C", directory, "--no-same-owner"]))
        if verifying {
            try bench.goCold()
            try verify()
        }
        if PageCache.canBeDropped {
            try bench.goCold()
            try time(
                "tree.grep-cold", Command("grep", ["-rl", "pthread_mutex_lock", directory]),
                accepting: [0, 1])
        }
        let watch = Stopwatch()
        try git("init", "-q").run()
        try git("add", ".").run()
        recorder.record("tree.git-add", watch.seconds)
        if PageCache.canBeDropped {
            try bench.goCold()
            try time("tree.status-cold", git("status", "--porcelain"))
        } else {
            try git("status", "--porcelain").run()
        }
        let text = try time("tree.status-warm", git("status", "--porcelain"))
        // All files must be added, and unchanged since.
        guard !text.isEmpty, text.split(separator: "\n").allSatisfy({ $0.hasPrefix("A  ") }) else {
            throw Failure("\(bench.system.id): git sees changes that nobody made: \(text.prefix(300))")
        }
        if PageCache.canBeDropped { try statusBesideReader() }
        try time("tree.remove", Command("rm", ["-rf", directory]))
        bench.noteMemory()
        if bench.cpuSeconds != nil { recorder.record("tree.memory", bench.peakMemory / 1_048_576) }
    }

    /// Looks for changes while another program reads a large file from its beginning to its end, again and again.
    private func statusBesideReader() throws {
        let path = bench.work + "/large"
        do {
            var content = Content(seed: 1)
            let file = try File(path, O_WRONLY | O_CREAT | O_EXCL)
            for offset in stride(from: 0, to: sizes.largeFile, by: Content.chunkSize) {
                try content.withChunk(page: offset / Content.pageSize) { try file.write($0, at: offset) }
            }
            try file.sync()
        }
        try bench.goCold()
        let status = git("status", "--porcelain")
        let (ending, done) = (Ending(), Counter())
        try Together.run(1) { _ in
            let file = try File(path, O_RDONLY)
            let buffer = ReadBuffer(Content.chunkSize)
            var offset = 0
            while !ending.isOver {
                let count = try file.read(buffer.bytes, at: offset)
                done.add(count)
                offset += count
                guard count < buffer.bytes.count else { continue }
                offset = 0
                // The next time, the system has to bring the content again.
                posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
            }
        } meanwhile: {
            defer { ending.end() }
            let watch = Stopwatch()
            try status.run()
            let seconds = watch.seconds
            recorder.record("tree.status-beside-reader", seconds)
            recorder.record(
                "tree.reader-beside-status", Double(done.value) / 1e6 / seconds)
        }
        try check(unlink(path), "unlink \(path)")
    }

    /// Compares the tree with the archive, except for times, which some systems do not store exactly.
    private func verify() throws {
        let text = try Command("tar", ["-df", tree.archive, "-C", directory]).run(accepting: [0, 1])
        let wrong = text.split(separator: "\n").filter { !$0.hasSuffix(": Mod time differs") }
        guard wrong.isEmpty else {
            throw Failure(
                "\(bench.system.id) returned wrong content: \(wrong.prefix(3).joined(separator: "; "))")
        }
    }

    private func git(_ arguments: String...) -> Command {
        var command = Command("git", ["-C", directory] + arguments, environment: bench.place.environment)
        command.environment["GIT_CONFIG_NOSYSTEM"] = "1"
        return command
    }

    @discardableResult
    private func time(_ measure: String, _ command: Command, accepting codes: Set<Int32> = [0]) throws
        -> String
    {
        let watch = Stopwatch()
        let text = try command.run(accepting: codes)
        recorder.record(measure, watch.seconds)
        return text
    }
}
