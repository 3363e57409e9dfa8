internal import Glibc
internal import Synchronization

/// Ends processes and mounts, and removes the temporary directory, however the run ends.
final class Cleanup: Sendable {
    static let shared = Cleanup()

    private struct State {
        var processes: Set<pid_t> = []
        var mounts: [String] = []
        var directory: String?
    }
    private let state = Mutex(State())
    private let isEnding = Atomic(false)

    func started(_ process: pid_t) { state.withLock { _ = $0.processes.insert(process) } }
    func ended(_ process: pid_t) { state.withLock { _ = $0.processes.remove(process) } }
    func mounted(_ path: String) { state.withLock { $0.mounts.append(path) } }
    func unmounted(_ path: String) { state.withLock { $0.mounts.removeAll { $0 == path } } }
    func uses(_ directory: String) { state.withLock { $0.directory = directory } }

    /// Cleans up everything, optionally except the directory; may be called twice.
    func run(keepingDirectory: Bool = false) {
        let state = self.state.withLock { state in
            let copy = state
            state = State(directory: keepingDirectory ? copy.directory : nil)
            return copy
        }
        // Unmount first, so that filesystems can end in order; a busy mount is detached.
        for mount in state.mounts.reversed() where umount2(mount, Int32(MNT_DETACH)) < 0 {
            _ = try? Command("fusermount3", ["-u", "-z", "-q", mount]).run()
        }
        for process in state.processes { kill(-process, SIGTERM) }
        for process in state.processes where !Self.waits(for: process, milliseconds: 3_000) {
            kill(-process, SIGKILL)
            _ = Self.waits(for: process, milliseconds: 1_000)
        }
        if let directory = state.directory, !keepingDirectory {
            _ = try? Command("rm", ["-rf", directory]).run()
        }
    }

    private static func waits(for process: pid_t, milliseconds: Int) -> Bool {
        for _ in 0..<milliseconds / 10 {
            if waitpid(process, nil, WNOHANG) != 0 { return true }
            usleep(10_000)
        }
        return false
    }

    /// Blocks the thread forever if a signal is ending the run.
    ///
    /// Otherwise the work would continue, fail because its files vanish, and end the process before the
    /// cleanup is done.
    func stopIfEnding() {
        while isEnding.load(ordering: .acquiring) { pause() }
    }

    /// Makes SIGINT, SIGTERM and SIGHUP clean up everything and end the process.
    ///
    /// Must be called before other threads start, because they inherit the blocked signals.
    static func handleSignals() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { _ in
                Cleanup.waitForSignal()
                return nil
            }, nil)
        pthread_detach(thread)
    }

    private static func waitForSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        var signal: Int32 = 0
        sigwait(&signals, &signal)
        shared.isEnding.store(true, ordering: .releasing)
        Terminal.note("\nInterrupted: unmounting and removing everything.")
        shared.run()
        _exit(128 + signal)
    }
}
