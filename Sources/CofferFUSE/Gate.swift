internal import CofferSystem
internal import Synchronization

/// Keeps programs out of a mount that is about to be locked, while the kernel still stores what they did before.
///
/// Any thread may open and close it; only the serving thread passes it.
final class Gate: Sendable {
    private let answers: LockedAnswers
    private let idle: IdleTime?
    private let closed = Atomic(false)
    private let stores = Atomic(0)

    /// - Parameter idle: Closes the gate when the time is over; nil for none.
    init(_ answers: LockedAnswers, _ idle: IdleTime?) {
        self.answers = answers
        self.idle = idle
    }

    /// The number of requests so far that stored pages or times through the closed gate.
    var storeCount: Int { stores.load(ordering: .relaxed) }

    /// Whether the kernel may keep no attributes, since a write(2) that finds them does not ask.
    var isClosed: Bool { closed.load(ordering: .acquiring) }

    func close() { closed.store(true, ordering: .releasing) }
    func open() { closed.store(false, ordering: .releasing) }

    /// Whether requests have to be shown to the gate.
    var isWatching: Bool { idle != nil || closed.load(ordering: .relaxed) }

    /// Decides about a request.
    ///
    /// - Returns: The answer that refuses it; nil if it may pass.
    func refusal(of bytes: RawSpan) -> [UInt8]? {
        guard let request = WireRequest(bytes) else { return nil }
        if let idle, request.isUse, !idle.noteUse() { close() }
        guard closed.load(ordering: .acquiring), !request.isHousekeeping else { return nil }
        if request.storesEarlierChanges {
            if request.isStore { stores.add(1, ordering: .relaxed) }
            return nil
        }
        return answers.answer(to: request)
    }
}
