import CofferRemote
import Synchronization

/// Crashes at one of the steps between two calls to the remote or the replica, and at every step from then
/// on.
final class CrashPoint: Sendable {
    private let left: Mutex<Int>

    init(after steps: Int) { left = Mutex(steps) }

    /// Counts a step; returns true once the crash has come.
    func strikes() -> Bool {
        left.withLock { left in
            left -= 1
            return left < 0
        }
    }

    var hasStruck: Bool { left.withLock { $0 < 0 } }
}

/// A remote as seen by a process that crashes: its last call may succeed while the answer is lost.
struct CrashingRemote: RemoteBackend {
    let base: any RemoteBackend
    let point: CrashPoint

    var limits: RemoteLimits { base.limits }
    func describe() -> String { base.describe() }
    func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    private func step<Value>(_ body: () async throws(RemoteError) -> Value) async throws(RemoteError) -> Value
    {
        if point.strikes() { throw .cancelled }
        let value = try await body()
        if point.strikes() { throw .cancelled }
        return value
    }

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await step { () async throws(RemoteError) in try await base.get(name, range) }
    }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try await step { () async throws(RemoteError) in
            try await base.put(name, bytes, ifAbsent: ifAbsent)
        }
    }

    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await step { () async throws(RemoteError) in try await base.list(prefix, after: after) }
    }

    func delete(_ name: RemoteName) async throws(RemoteError) {
        try await step { () async throws(RemoteError) in try await base.delete(name) }
    }
}
