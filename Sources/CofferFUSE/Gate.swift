internal import CofferSystem
internal import Synchronization

/// Keeps programs out of a mount that is about to be locked, while the kernel still stores what they did before.
///
/// Any thread may open and close it; only the serving thread passes it.
final class Gate: Sendable {
    private let answers: LockedAnswers
    private let idle: IdleTime?
    private let closed = Atomic(false)

    /// - Parameter idle: Closes the gate when the time is over; nil for none.
    init(_ answers: LockedAnswers, _ idle: IdleTime?) {
        self.answers = answers
        self.idle = idle
    }

    /// Whether the kernel may keep no attributes, since a write(2) that finds them does not ask.
    var isClosed: Bool { closed.load(ordering: .acquiring) }

    func close() { closed.store(true, ordering: .releasing) }
    func open() { closed.store(false, ordering: .releasing) }

    /// Whether requests have to be shown to the gate.
    var isWatching: Bool { idle != nil || closed.load(ordering: .relaxed) }

    /// Decides about a request.
    ///
    /// - Returns: The answer that refuses it; nil if it may pass.
    func refusal(of request: WireRequest) -> [UInt8]? {
        if let idle, request.isUse, !idle.noteUse() { close() }
        guard isClosed, !request.isHousekeeping, !request.storesEarlierChanges else { return nil }
        return answers.answer(to: request)
    }
}
