internal import CofferSystem

/// Whether a signal, such as Ctrl-C, asks the measurement to end.
final class BenchStop: Sendable {
    private let state = Condition<Int32?>(nil)

    /// Records the first signal instead of letting it end the process; the second one ends it.
    func listen() throws(SystemError) {
        EndingSignals.hold()
        try Thread.startDetached("coffer-signals") { [state] in
            let number = EndingSignals.next()
            state.update { $0 = number }
            EndingSignals.die(of: EndingSignals.next())
        }
    }

    /// The signal that arrived; nil if none did.
    var signal: Int32? { state.withLock { $0 } }

    var isSet: Bool { signal != nil }
}
