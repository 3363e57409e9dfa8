internal import Glibc

/// What developers do to a tree of sources, by their own tools.
struct TreeWorkload {
    let bench: Bench
    let tree: SourceTree
    let recorder: Recorder

    private var directory: String { bench.work + "/tree" }

    func run(verifying: Bool) throws {
        try bench.mount()
        try check(mkdir(directory, 0o755), "mkdir \(directory)")
        // The archive is in the page cache for everyone.
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
        // Everything is added, and nothing has changed since.
        guard !text.isEmpty, text.split(separator: "\n").allSatisfy({ $0.hasPrefix("A  ") }) else {
            throw Failure("\(bench.system.id): git sees changes that nobody made: \(text.prefix(300))")
        }
        try time("tree.remove", Command("rm", ["-rf", directory]))
        bench.noteMemory()
        if bench.cpuSeconds != nil { recorder.record("tree.memory", bench.peakMemory / 1_048_576) }
    }

    /// Compares with the archive.
    ///
    /// Times do not count: some systems do not keep them exactly.
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
