package import CofferSystem
internal import Synchronization

/// The bytes per second that some remotes together may send and receive.
package final class TransferLimits: Sendable {
    fileprivate let sending: RateLimit?
    fileprivate let receiving: RateLimit?
    fileprivate let clock: any RemoteClock

    /// Makes limits.
    ///
    /// - Parameters:
    ///   - sending: Bytes per second, at least 1; nil for no limit.
    ///   - receiving: Bytes per second, at least 1; nil for no limit.
    package init(sending: Int?, receiving: Int?, clock: any RemoteClock = ContinuousRemoteClock()) {
        self.clock = clock
        self.sending = sending.map { RateLimit($0) }
        self.receiving = receiving.map { RateLimit($0) }
    }
}

/// Limits the average rate of bytes per second, separately for each direction.
///
/// One object moves at full speed, and the next call waits until that object's bytes are accounted for. So a
/// burst is at most the objects in flight.
package struct RateLimitedRemote: RemoteBackend {
    private let base: any RemoteBackend
    private let allowed: TransferLimits
    private var clock: any RemoteClock { allowed.clock }
    private var sending: RateLimit? { allowed.sending }
    private var receiving: RateLimit? { allowed.receiving }

    /// Wraps `base`.
    ///
    /// - Parameter allowed: The limits, which other remotes may share.
    package init(_ base: any RemoteBackend, _ allowed: TransferLimits) {
        self.base = base
        self.allowed = allowed
    }

    package var limits: RemoteLimits { base.limits }

    package func describe() -> String { base.describe() }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await wait(receiving, for: 0)
        let content = try await base.get(name, range)
        receiving?.pay(content.bytes.count, at: clock.now)
        return content
    }

    package func getBuffer(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> BufferPart {
        try await wait(receiving, for: 0)
        let part = try await base.getBuffer(name, range)
        receiving?.pay(part.count, at: clock.now)
        return part
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try await wait(sending, for: bytes.byteCount)
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await base.list(prefix, after: after)
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        try await base.delete(name)
    }

    package func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String] {
        try await base.obstacles(below: prefix)
    }

    package func shortcomings() async throws(RemoteError) -> [String] { try await base.shortcomings() }

    package func tidy(_ prefix: RemotePrefix) async throws(RemoteError) { try await base.tidy(prefix) }

    package func visibility() async -> ChangeVisibility { await base.visibility() }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    private func wait(_ limit: RateLimit?, for byteCount: Int) async throws(RemoteError) {
        guard let pause = limit?.pay(byteCount, at: clock.now), pause > .zero else { return }
        try await clock.sleep(for: pause)
    }
}

/// The time until which one direction's bytes are accounted for.
private final class RateLimit: Sendable {
    private let bytesPerSecond: Int
    private let paidUntil = Mutex(Duration.zero)

    init(_ bytesPerSecond: Int) {
        precondition(bytesPerSecond > 0)
        self.bytesPerSecond = bytesPerSecond
    }

    /// Accounts for bytes.
    ///
    /// - Returns: The time that the bytes before them still take.
    @discardableResult
    func pay(_ byteCount: Int, at now: Duration) -> Duration {
        paidUntil.withLock { paidUntil in
            let start = max(paidUntil, now)
            paidUntil = start + .seconds(Double(byteCount) / Double(bytesPerSecond))
            return start - now
        }
    }
}
