internal import CofferSystem
internal import Glibc
internal import Synchronization

/// Whether a signal, such as Ctrl-C, asks a command to end.
final class Interruption: Sendable {
    private let state = Mutex<Int32?>(nil)
    private let cleanup = Mutex<@Sendable () -> Void>({})

    /// Records the first signal; a second one ends the process.
    ///
    /// - Parameters:
    ///   - isAwaited: Whether the command watches for the first signal. If not, for example because a mount does the work
    ///     and notices the closed connection, the first signal ends the process.
    ///   - cleanup: Runs before a signal ends the process.
    func listen(
        isAwaited: Bool, cleanup: @escaping @Sendable () -> Void = {}
    ) throws(SystemError) {
        self.cleanup.withLock { $0 = cleanup }
        EndingSignals.hold()
        try Thread.startDetached("coffer-signals") { [self] in
            let number = EndingSignals.next()
            if isAwaited {
                state.withLock { $0 = number }
                let second = EndingSignals.next()
                end()
                EndingSignals.die(of: second)
            }
            if isatty(STDERR_FILENO) == 1 { Output.write("\r\u{1b}[K", to: STDERR_FILENO) }
            end()
            EndingSignals.die(of: number)
        }
    }

    /// Cleans up, as before a signal ends the process.
    func end() { cleanup.withLock { $0 }() }

    /// The signal that arrived; nil if none did.
    var signal: Int32? { state.withLock { $0 } }

    var isSet: Bool { signal != nil }
}
