internal import Glibc

/// Measures thousands of files of 4 KiB.
struct SmallFileWorkload {
    let bench: Bench
    let sizes: Sizes
    let seed: UInt64
    let recorder: Recorder

    private var count: Double { Double(sizes.smallFiles) }

    func run(verifying: Bool) throws {
        try bench.mount()
        var content = Content(seed: seed)
        try create(&content)
        sync()
        // One walk without measuring fills the caches.
        try walk()
        recorder.record("small.walk-warm", count / (try walk()))
        try read()
        recorder.record("small.read-warm", count / (try read()))
        if PageCache.canBeDropped {
            try bench.goCold()
            recorder.record("small.walk-cold", count / (try walk()))
            try bench.goCold()
            recorder.record("small.read-cold", count / (try read()))
        }
        if verifying {
            try bench.goCold()
            try verify(&content)
        }
        let renaming = try inDirectories { directory, file in
            let name = Self.name(file)
            try check(renameat(directory, name, directory, "r" + name), "rename \(name)")
        }
        recorder.record("small.rename", count / renaming)
        let removing = try inDirectories { directory, file in
            try check(unlinkat(directory, "r" + Self.name(file), 0), "unlink r\(Self.name(file))")
        }
        recorder.record("small.unlink", count / removing)
        let left = try Walk(bench.work + "/files")
        guard left.fileCount == 0 else {
            throw Failure("\(bench.system.id): \(left.fileCount) files are left")
        }
        try createTogether()
        bench.noteMemory()
        if bench.cpuSeconds != nil { recorder.record("small.memory", bench.peakMemory / 1_048_576) }
    }

    private static func name(_ file: Int) -> String { "f\(file)" }

    private func create(_ content: inout Content) throws {
        try check(mkdir(bench.work + "/files", 0o755), "mkdir")
        let watch = Stopwatch()
        for index in 0..<directoryCount {
            try check(mkdir("\(bench.work)/files/d\(index)", 0o755), "mkdir")
        }
        try inDirectories { directory, file in
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
            let descriptor = try check(openat(directory, Self.name(file), flags, mode_t(0o644)), "create")
            defer { close(descriptor) }
            let written = content.withChunk(page: file, pages: 1) {
                write(descriptor, $0.baseAddress, $0.count)
            }
            guard written == Content.pageSize else { throw Failure(call: "write \(Self.name(file))") }
        }
        recorder.record("small.create", count / watch.seconds)
    }

    /// Creates the same number of files by four programs, each in directories of its own.
    private func createTogether() throws {
        let (work, seed, count) = (bench.work, seed, sizes.smallFiles / 4)
        let watch = Stopwatch()
        try Together.run(4) { index in
            var content = Content(seed: seed)
            var directory = ""
            for number in 0..<count {
                if number % Sizes.filesPerDirectory == 0 {
                    directory = "\(work)/program\(index)-\(number)"
                    try check(mkdir(directory, 0o755), "mkdir \(directory)")
                }
                let file = try File("\(directory)/\(Self.name(number))", O_WRONLY | O_CREAT | O_EXCL)
                try content.withChunk(page: number, pages: 1) { try file.write($0, at: 0) }
            }
        }
        recorder.record("small.create-4", Double(count * 4) / watch.seconds)
    }

    /// Walks through all directories; returns the seconds.
    @discardableResult
    private func walk() throws -> Double {
        let watch = Stopwatch()
        let walk = try Walk(bench.work + "/files")
        let seconds = watch.seconds
        guard walk.fileCount == sizes.smallFiles else {
            throw Failure("\(bench.system.id) lists \(walk.fileCount) files")
        }
        return seconds
    }

    /// Reads all files; returns the seconds.
    @discardableResult
    private func read() throws -> Double {
        let buffer = ReadBuffer(Content.pageSize)
        return try inDirectories { directory, file in
            let descriptor = try check(openat(directory, Self.name(file), O_RDONLY | O_CLOEXEC), "open")
            defer { close(descriptor) }
            guard Glibc.read(descriptor, buffer.bytes.baseAddress, buffer.bytes.count) == Content.pageSize
            else {
                throw Failure(call: "read \(Self.name(file))")
            }
        }
    }

    private func verify(_ content: inout Content) throws {
        let buffer = ReadBuffer(Content.pageSize)
        for index in 0..<sizes.smallFiles {
            let name = "d\(index / Sizes.filesPerDirectory)/\(Self.name(index))"
            let file = try File("\(bench.work)/files/\(name)", O_RDONLY)
            let length = try file.read(buffer.bytes, at: 0)
            let bytes = UnsafeRawBufferPointer(buffer.bytes)
            guard length == Content.pageSize, content.matches(bytes, page: index) else {
                throw Failure("\(bench.system.id) returned wrong content: \(name)")
            }
        }
    }

    private var directoryCount: Int {
        (sizes.smallFiles + Sizes.filesPerDirectory - 1) / Sizes.filesPerDirectory
    }

    /// Calls `body` for each file with its directory's descriptor; returns the seconds.
    @discardableResult
    private func inDirectories(_ body: (_ directory: Int32, _ file: Int) throws -> Void) throws -> Double {
        let watch = Stopwatch()
        for index in 0..<directoryCount {
            let directory = try File("\(bench.work)/files/d\(index)", O_RDONLY | O_DIRECTORY)
            let first = index * Sizes.filesPerDirectory
            for file in first..<min(first + Sizes.filesPerDirectory, sizes.smallFiles) {
                try body(directory.descriptor, file)
            }
        }
        return watch.seconds
    }
}
