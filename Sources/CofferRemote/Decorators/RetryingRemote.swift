package import CofferSystem
internal import Synchronization

/// When failed requests are repeated.
package struct RetryPolicy: Sendable {
    /// The longest pause before the first retry.
    package var firstPause: Duration = .milliseconds(500)
    /// The longest pause; up to this limit, each pause is up to twice as long as the one before.
    package var pauseMax: Duration = .seconds(30)
    /// No retry begins later than this after the first attempt.
    package var deadline: Duration = .seconds(300)
    /// After a request whose retries all found the remote unreachable, others are not repeated for this long,
    /// unless the remote answers: many programs would otherwise wait one after the other.
    package var outage: Duration = .seconds(30)

    /// The defaults above.
    package init() {}

    /// The longest pause before a retry; retries count from 1.
    func pauseLimit(before repetition: Int) -> Duration {
        var pause = firstPause
        for _ in 1..<max(repetition, 1) where pause < pauseMax { pause *= 2 }
        return min(pause, pauseMax)
    }
}

/// Retries failed requests, where that can help, after growing pauses.
///
/// Each pause is drawn from zero up to its limit (“full jitter”), so that the requests of many clients that
/// failed together do not come back together. If the remote is overloaded and asks for a pause, no call of this
/// client is sent before the pause is over; a call whose deadline comes earlier fails at once. A retried
/// put-if-absent may find the object of its own earlier attempt: if the object has the same bytes,
/// the put has succeeded.
package struct RetryingRemote: RemoteBackend {
    private let base: any RemoteBackend
    private let policy: RetryPolicy
    private let clock: any RemoteClock
    private let random: @Sendable () -> Double
    private let outage = Outage()
    private let quiet = Quiet()

    /// Remembers that the remote is unreachable, until it answers, or for some time.
    private final class Outage: Sendable {
        /// By the clock; nil if there is no outage.
        private let end = Mutex<Duration?>(nil)

        /// Records the outcome of an attempt; nil is success.
        ///
        /// - Returns: Whether the remote is known to be unreachable: a retry would be in vain.
        func isKnown(after error: RemoteError?, at now: Duration) -> Bool {
            end.withLock { end in
                switch error {
                case .unreachable: return end.map { now < $0 } ?? false
                // These say nothing about the remote.
                case .cancelled, .unreadable: return false
                default:
                    end = nil
                    return false
                }
            }
        }

        /// Records that retries were in vain.
        func begin(until time: Duration) { end.withLock { $0 = time } }
    }

    /// Remembers until when the remote has asked to be left alone.
    private final class Quiet: Sendable {
        private let end = Mutex(Duration.zero)

        /// Takes what an error says; an earlier request for a longer pause stays.
        func note(_ error: RemoteError, at now: Duration) {
            guard case .busy(let after?) = error else { return }
            end.withLock { $0 = max($0, now + after) }
        }

        /// The rest of the pause; zero if there is none.
        func left(at now: Duration) -> Duration { end.withLock { max(.zero, $0 - now) } }
    }

    /// Wraps `base`.
    ///
    /// - Parameter random: Draws numbers from 0 to 1.
    package init(
        _ base: any RemoteBackend, _ policy: RetryPolicy = RetryPolicy(),
        clock: any RemoteClock = ContinuousRemoteClock(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.base = base
        self.policy = policy
        self.clock = clock
        self.random = random
    }

    package var limits: RemoteLimits { base.limits }

    package func describe() -> String { base.describe() }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await repeating { _ async throws(RemoteError) in try await base.get(name, range) }
    }

    package func getBuffer(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> BufferPart {
        try await repeating { _ async throws(RemoteError) in try await base.getBuffer(name, range) }
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try await repeating { attempt async throws(RemoteError) in
            do throws(RemoteError) {
                try await base.put(name, bytes, ifAbsent: ifAbsent)
            } catch {
                guard error == .exists, attempt > 1, try await base.holds(name, bytes) else { throw error }
            }
        }
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await repeating { _ async throws(RemoteError) in try await base.list(prefix, after: after) }
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        try await repeating { _ async throws(RemoteError) in try await base.delete(name) }
    }

    package func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String] {
        try await base.obstacles(below: prefix)
    }

    package func shortcomings() async throws(RemoteError) -> [String] { try await base.shortcomings() }

    package func tidy(_ prefix: RemotePrefix) async throws(RemoteError) { try await base.tidy(prefix) }

    package func visibility() async -> ChangeVisibility { await base.visibility() }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    private func repeating<Value>(
        _ body: (_ attempt: Int) async throws(RemoteError) -> Value
    ) async throws(RemoteError) -> Value {
        let end = clock.now + policy.deadline
        try await waitWhileQuiet(until: end)
        var attempt = 1
        while true {
            do throws(RemoteError) {
                let value = try await body(attempt)
                _ = outage.isKnown(after: nil, at: clock.now)
                return value
            } catch {
                let isKnown = outage.isKnown(after: error, at: clock.now)
                quiet.note(error, at: clock.now)
                guard error.canRetryHelp, !isKnown else { throw error }
                let pause = quiet.left(at: clock.now) + policy.pauseLimit(before: attempt) * random()
                guard clock.now + pause <= end else {
                    if case .unreachable = error { outage.begin(until: clock.now + policy.outage) }
                    throw error
                }
                DebugLog.log(.warning, .remote, "attempt \(attempt) failed: \(error); pause of \(pause)")
                try await clock.sleep(for: pause)
                // Another call may have been told to wait meanwhile.
                try await waitWhileQuiet(until: end)
                attempt += 1
            }
        }
    }

    /// Waits until the remote may be asked again.
    ///
    /// - Throws: `.busy` if that is after the deadline; nothing was sent then.
    private func waitWhileQuiet(until end: Duration) async throws(RemoteError) {
        while true {
            let left = quiet.left(at: clock.now)
            if left == .zero { return }
            guard clock.now + left <= end else { throw .busy(after: left) }
            // Those that wait for the same end do not go on in the same moment.
            try await clock.sleep(for: left + policy.firstPause * random())
        }
    }
}
