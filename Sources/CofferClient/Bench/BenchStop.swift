internal import CofferSystem

/// Whether somebody wants the measuring to end: Ctrl-C and its like.
final class BenchStop: Sendable {
    private let state = Condition<Int32?>(nil)

    /// From now on signals do not end the process, but are noted here; a second one does end it.
    func listen() throws(SystemError) {
        EndingSignals.hold()
        try Thread.startDetached("coffer-signals") { [state] in
            let number = EndingSignals.next()
            state.update { $0 = number }
            EndingSignals.die(of: EndingSignals.next())
        }
    }

    /// The signal that came, if one did.
    var signal: Int32? { state.withLock { $0 } }

    var isSet: Bool { signal != nil }
}
