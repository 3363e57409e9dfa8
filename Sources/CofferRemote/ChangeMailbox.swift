internal import Synchronization

/// Unread changes, each prefix once, bounded in number.
package final class ChangeMailbox: Sendable {
    private struct State {
        var pending: Set<RemotePrefix> = []
        var reader: CheckedContinuation<RemotePrefix?, Never>?
        var isEnded = false
    }

    /// Above this number, the mailbox only keeps that something has changed.
    private static let pendingCountMax = 64

    private let prefix: RemotePrefix
    private let state = Mutex(State())

    /// Makes an empty mailbox for changes below `prefix`.
    package init(below prefix: RemotePrefix) {
        self.prefix = prefix
    }

    /// Whether the reader is gone.
    package var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Keeps a change until it is read.
    ///
    /// A change wider than the mailbox's prefix is narrowed to that prefix; a change elsewhere is ignored.
    package func post(_ change: RemotePrefix) {
        let change = change.contains(prefix) ? prefix : change
        guard prefix.contains(change) else { return }
        let reader: CheckedContinuation<RemotePrefix?, Never>? = state.withLock { state in
            if state.isEnded { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            if state.pending.contains(prefix) { return nil }
            state.pending.insert(change)
            if change == prefix || state.pending.count > Self.pendingCountMax { state.pending = [prefix] }
            return nil
        }
        reader?.resume(returning: change)
    }

    /// Ends the sequence.
    package func end() {
        let reader = state.withLock { state in
            state.isEnded = true
            state.pending = []
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    private func next() async -> RemotePrefix? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: RemotePrefix?? = state.withLock { state in
                    if state.isEnded { return .some(nil) }
                    if let change = state.pending.popFirst() { return change }
                    precondition(state.reader == nil, "a sequence of changes has one reader")
                    state.reader = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            end()
        }
    }

    /// The changes, as a sequence for one reader.
    ///
    /// - Parameter onEnd: Called once, when the sequence is cancelled or released.
    package func changes(onEnd: @escaping @Sendable () -> Void) -> RemoteChanges {
        let subscription = Subscription(mailbox: self, onEnd: onEnd)
        return RemoteChanges { await subscription.mailbox.next() }
    }

    /// Lives as long as the sequence that holds it.
    private final class Subscription: Sendable {
        let mailbox: ChangeMailbox
        private let onEnd: @Sendable () -> Void

        init(mailbox: ChangeMailbox, onEnd: @escaping @Sendable () -> Void) {
            self.mailbox = mailbox
            self.onEnd = onEnd
        }

        deinit {
            mailbox.end()
            onEnd()
        }
    }
}
