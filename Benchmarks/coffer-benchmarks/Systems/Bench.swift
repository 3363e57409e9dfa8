internal import BenchmarkReport
internal import Glibc

/// A fresh, mounted store of one system.
final class Bench {
    let system: BenchmarkedSystem
    let place: BenchmarkedSystem.Place
    private var daemon: Daemon?
    /// The greatest peak of memory of any daemon so far, in bytes.
    private(set) var peakMemory = 0.0

    /// Creates the store below an existing directory.
    init(_ system: BenchmarkedSystem, in directory: String, defaultStrength: Bool = false) throws {
        self.system = system
        place = BenchmarkedSystem.Place(
            root: directory + "/" + system.id, hasDefaultStrength: defaultStrength)
        for path in [place.root, place.store, place.mount, place.home] {
            try check(mkdir(path, 0o700), "mkdir \(path)")
        }
        try BenchmarkedSystem.Place.write(BenchmarkedSystem.Place.passphrase + "\n", to: place.passphraseFile)
        try system.create(place)
    }

    /// The directory to work in.
    var work: String {
        if system.mount == nil { return place.store }
        return system.directory.isEmpty ? place.mount : "\(place.mount)/\(system.directory)"
    }

    /// Mounts; returns the seconds until the directory answered.
    @discardableResult
    func mount() throws -> Double {
        guard let command = system.mount?(place) else { return 0 }
        let watch = Stopwatch()
        daemon = try Daemon(command, place)
        guard access(work, R_OK) == 0 else { throw Failure(call: work) }
        daemon?.resetPeak()
        return watch.seconds
    }

    /// Records the memory that was used, and unmounts.
    func unmount() throws {
        noteMemory()
        if system.storesLater, daemon != nil { try settle(still: 7, limit: 300) }
        try daemon?.unmount()
        daemon = nil
    }

    /// Drops all caches of the kernel and of the filesystem.
    func goCold() throws {
        if system.keepsFiles { try unmount() } else { noteMemory() }
        if PageCache.canBeDropped { try PageCache.drop() } else { sync() }
        if system.keepsFiles { try mount() }
    }

    /// Waits until the store's size has not changed for a while; returns the seconds until its last change.
    @discardableResult
    func settle(still stillness: Double, limit: Double) throws -> Double {
        let watch = Stopwatch()
        var size = try Walk(place.store).allocated
        var changed = 0.0
        while watch.seconds - changed < stillness, watch.seconds < limit {
            usleep(500_000)
            let now = try Walk(place.store).allocated
            if now != size { changed = watch.seconds }
            size = now
        }
        return changed
    }

    func noteMemory() {
        if let daemon { peakMemory = max(peakMemory, daemon.statistics.peakMemory) }
    }

    /// The daemon's process; nil without a daemon.
    var process: pid_t? { daemon?.id }

    /// The CPU seconds of the daemon since its start; nil without a daemon.
    var cpuSeconds: Double? { daemon?.statistics.cpuSeconds }

    /// Unmounts, and removes the store.
    func remove() throws {
        try unmount()
        try Command("rm", ["-rf", place.root]).run()
    }
}

extension BenchmarkedSystem.Place {
    /// Creates a file that only this user can read.
    static func write(_ text: String, to path: String) throws {
        let file = try check(
            open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode_t(0o600)), "open \(path)")
        defer { close(file) }
        let bytes = Array(text.utf8)
        try check(Glibc.write(file, bytes, bytes.count), "write \(path)")
    }
}
