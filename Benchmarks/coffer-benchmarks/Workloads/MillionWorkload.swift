/// Measures a vault with a million files.
struct MillionWorkload {
    let bench: Bench
    let recorder: Recorder
    private static let count = 1_000_000

    func run() throws {
        try bench.mount()
        let files = EmptyFiles(count: Self.count, directory: bench.work + "/files")
        let watch = Stopwatch()
        try files.create()
        recorder.record("million.create", Double(Self.count) / watch.seconds)
        try bench.unmount()
        if PageCache.canBeDropped { try PageCache.drop() }
        let seconds = try bench.mount()
        if bench.cpuSeconds != nil { recorder.record("million.mount", seconds) }
        let walking = Stopwatch()
        let walk = try Walk(files.directory)
        recorder.record("million.walk-cold", Double(Self.count) / walking.seconds)
        guard walk.fileCount == Self.count else {
            throw Failure("\(bench.system.id) lists \(walk.fileCount) files")
        }
        bench.noteMemory()
        if bench.cpuSeconds != nil { recorder.record("million.memory", bench.peakMemory / 1_048_576) }
    }
}
