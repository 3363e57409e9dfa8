package import CofferSystem
internal import Synchronization

/// Counts of the calls made to a remote, and of their bytes.
package struct RemoteCounts: Equatable, Sendable {
    /// Calls that were made, successful or not.
    package var gets = 0, puts = 0, lists = 0, deletes = 0
    /// Calls that threw.
    package var failures = 0
    /// Bytes of objects that successful calls put and got.
    package var bytesSent = 0, bytesReceived = 0

    /// Starts all counts at 0.
    package init() {}
}

/// Counts the calls that pass through to another backend.
package final class CountingRemote: RemoteBackend {
    private let base: any RemoteBackend
    private let state = Mutex(RemoteCounts())
    /// Recent transfers: times by the monotonic clock, and bytes.
    private let recent = Mutex<[(time: Int64, byteCount: Int)]>([])
    /// The period over which a rate is computed, in nanoseconds.
    private static let rateTime: Int64 = 5_000_000_000

    /// Wraps `base`; all counts begin at 0.
    package init(_ base: any RemoteBackend) {
        self.base = base
    }

    /// The counts so far.
    package var counts: RemoteCounts { state.withLock { $0 } }

    /// Bytes sent and received per second, averaged over the last five seconds.
    package var bytesPerSecond: Int {
        let start = Clock.monotonic - Self.rateTime
        return recent.withLock { recent in
            recent.removeAll { $0.time < start }
            return recent.reduce(0) { $0 + $1.byteCount } / Int(Self.rateTime / 1_000_000_000)
        }
    }

    private func addTransfer(_ byteCount: Int) {
        guard byteCount > 0 else { return }
        let now = Clock.monotonic
        recent.withLock { recent in
            recent.append((now, byteCount))
            if recent.count > 4096 { recent.removeAll { $0.time < now - Self.rateTime } }
        }
    }

    package var limits: RemoteLimits { base.limits }

    package func describe() -> String { base.describe() }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await counting(.get, \.gets, sum: \.bytesReceived, of: { $0.bytes.count }) {
            () async throws(RemoteError) in try await base.get(name, range)
        }
    }

    package func getBuffer(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> BufferPart {
        try await counting(.get, \.gets, sum: \.bytesReceived, of: { $0.count }) {
            () async throws(RemoteError) in try await base.getBuffer(name, range)
        }
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try await counting(.put, \.puts, sum: \.bytesSent, of: { bytes.byteCount }) {
            () async throws(RemoteError) in try await base.put(name, bytes, ifAbsent: ifAbsent)
        }
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await counting(.list, \.lists, sum: \.bytesReceived, of: { _ in 0 }) {
            () async throws(RemoteError) in try await base.list(prefix, after: after)
        }
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        try await counting(.delete, \.deletes, sum: \.bytesSent, of: { 0 }) {
            () async throws(RemoteError) in try await base.delete(name)
        }
    }

    package func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String] {
        try await base.obstacles(below: prefix)
    }

    package func shortcomings() async throws(RemoteError) -> [String] { try await base.shortcomings() }

    package func tidy(_ prefix: RemotePrefix) async throws(RemoteError) { try await base.tidy(prefix) }

    package func visibility() async -> ChangeVisibility { await base.visibility() }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    /// A kind of call, in the debug log.
    private enum Call: String, LogWord {
        case get, put, list, delete
    }

    private func counting<Value>(
        _ call: Call, _ calls: any WritableKeyPath<RemoteCounts, Int> & Sendable,
        sum: any WritableKeyPath<RemoteCounts, Int> & Sendable,
        of byteCount: (Value) -> Int,
        _ body: () async throws(RemoteError) -> Value
    ) async throws(RemoteError) -> Value {
        state.withLock { $0[keyPath: calls] += 1 }
        let timer = LogTimer(.debug)
        do throws(RemoteError) {
            let value = try await body()
            let count = byteCount(value)
            state.withLock { $0[keyPath: sum] += count }
            addTransfer(count)
            DebugLog.log(.debug, .remote, "\(call) of \(count) bytes, \(timer)")
            return value
        } catch {
            DebugLog.log(.debug, .remote, "\(call) failed, \(timer): \(error)")
            state.withLock { $0.failures += 1 }
            throw error
        }
    }
}
