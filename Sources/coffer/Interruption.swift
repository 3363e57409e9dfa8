internal import CofferSystem
internal import Glibc
internal import Synchronization

/// Whether a signal, such as Ctrl-C, asks a command to end.
final class Interruption: Sendable {
    private let state = Mutex<Int32?>(nil)

    /// Records the first signal; a second one ends the process.
    ///
    /// - Parameter isAwaited: Whether the command watches for the first signal. If not, for example because a
    ///   mount does the work and notices the closed connection, the first signal ends the process.
    func listen(isAwaited: Bool) throws(SystemError) {
        EndingSignals.hold()
        try Thread.startDetached("coffer-signals") { [self] in
            let number = EndingSignals.next()
            if isAwaited {
                state.withLock { $0 = number }
                EndingSignals.die(of: EndingSignals.next())
            }
            if isatty(STDERR_FILENO) == 1 { Output.write("\r\u{1b}[K", to: STDERR_FILENO) }
            EndingSignals.die(of: number)
        }
    }

    /// The signal that arrived; nil if none did.
    var signal: Int32? { state.withLock { $0 } }

    var isSet: Bool { signal != nil }
}
