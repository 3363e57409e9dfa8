internal import Glibc

/// A process that serves a mount.
final class Daemon {
    private let process: ChildProcess
    private let place: BenchmarkedSystem.Place
    /// The time from the start of the program until the mount point answered, in seconds.
    let mountSeconds: Double

    /// Starts the process, and waits until the mount point answers.
    init(_ command: Command, _ place: BenchmarkedSystem.Place) throws {
        self.place = place
        let log = try check(
            open(place.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode_t(0o600)), "open \(place.log)")
        defer { close(log) }
        Cleanup.shared.stopIfEnding()
        let bare = try Self.device(of: place.mount)
        let watch = Stopwatch()
        process = try ChildProcess(command, output: log)
        Cleanup.shared.mounted(place.mount)
        // Once something is mounted, stat blocks until it answers.
        while try Self.device(of: place.mount) == bare {
            if let code = process.exitCodeIfEnded() {
                Cleanup.shared.unmounted(place.mount)
                let text = ProcessStatistics.text(place.log).suffix(1_000)
                throw Failure("“\(command.text)” ended with \(code): \(text)")
            }
            if watch.seconds > 120 { throw Failure("“\(command.text)” mounted nothing within two minutes") }
            usleep(500)
        }
        mountSeconds = watch.seconds
    }

    var id: pid_t { process.id }

    var statistics: ProcessStatistics { ProcessStatistics(process.id) }

    /// Excludes the memory that only the passphrase needed from the peak.
    func resetPeak() {
        ProcessStatistics.resetPeak(of: process.id)
    }

    /// Unmounts, and waits until the process has stored everything and ended.
    func unmount() throws {
        // A process that has just looked at the mount may keep it busy for a moment.
        for attempt in 1... {
            do {
                try Command("fusermount3", ["-u", place.mount]).run()
                break
            } catch {
                if attempt == 50 { throw error }
                usleep(100_000)
            }
        }
        Cleanup.shared.unmounted(place.mount)
        let watch = Stopwatch()
        while process.exitCodeIfEnded() == nil {
            if watch.seconds > 300 { throw Failure("\(place.mount) was unmounted, but is still served") }
            usleep(1_000)
        }
    }

    private static func device(of path: String) throws -> dev_t {
        var status = stat()
        // A daemon that has ended may leave a mount that does not answer.
        if stat(path, &status) < 0 {
            if errno == ENOTCONN || errno == EINTR || errno == ECONNABORTED { return 0 }
            throw Failure(call: "stat \(path)")
        }
        return status.st_dev
    }
}
