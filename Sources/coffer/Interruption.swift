internal import CofferSystem
internal import Glibc
internal import Synchronization

/// Whether somebody wants a command to end: Ctrl-C and its like.
final class Interruption: Sendable {
    private let state = Mutex<Int32?>(nil)

    /// From now on signals are noted here; a second one ends the process.
    ///
    /// - Parameter isAwaited: Whether the command ends by itself soon after the first one. If not, as where a mount does
    ///   the work, which notices, the first one ends the process.
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

    /// The signal that came, if one did.
    var signal: Int32? { state.withLock { $0 } }

    var isSet: Bool { signal != nil }
}
