internal import Glibc

/// Measures how long mounting takes, with and without the passphrase.
struct MountWorkload {
    let bench: Bench
    let sizes: Sizes
    let rounds: Int
    let recorder: Recorder

    func run() throws {
        try time("mount.empty", "mount.empty-beyond")
        try bench.mount()
        let files = EmptyFiles(count: sizes.mountedFiles, directory: bench.work + "/files")
        try files.create()
        try bench.unmount()
        try time("mount.full", "mount.full-beyond")
        try bench.mount()
        guard try Walk(files.directory).fileCount == files.count else {
            throw Failure("\(bench.system.id) lost files")
        }
    }

    private func time(_ measure: String, _ beyond: String) throws {
        for round in 1...rounds {
            let unlock = try unlockSeconds()
            if PageCache.canBeDropped { try PageCache.drop() }
            let seconds = try bench.mount()
            try bench.unmount()
            recorder.record(measure, seconds, round: round)
            guard let unlock else { continue }
            // Recorded once, because the cost of the passphrase does not depend on the number of files.
            if measure == "mount.empty" { recorder.record("mount.unlock", unlock, round: round) }
            recorder.record(beyond, seconds - unlock, round: round)
        }
    }

    /// Measures the passphrase alone; nil if the system has no command for that.
    private func unlockSeconds() throws -> Double? {
        guard let command = bench.system.unlock?(bench.place) else { return nil }
        if PageCache.canBeDropped { try PageCache.drop() }
        let watch = Stopwatch()
        try command.run()
        return watch.seconds
    }
}

/// Creates many empty files.
struct EmptyFiles {
    let count: Int
    let directory: String
    private static let perDirectory = 1_000

    init(count: Int, directory: String) {
        self.count = count
        self.directory = directory
    }

    func create() throws {
        try check(mkdir(directory, 0o755), "mkdir \(directory)")
        for first in stride(from: 0, to: count, by: Self.perDirectory) {
            let path = "\(directory)/d\(first / Self.perDirectory)"
            try check(mkdir(path, 0o755), "mkdir \(path)")
            let directory = try File(path, O_RDONLY | O_DIRECTORY)
            for file in first..<min(first + Self.perDirectory, count) {
                let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
                close(try check(openat(directory.descriptor, "f\(file)", flags, mode_t(0o644)), "create"))
            }
        }
    }
}
