package import CofferRemote
internal import Synchronization

/// An empty remote whose first listings fail with given errors, one after the other.
package final class FailingListings: RemoteBackend {
    private let base = MemoryRemote()
    private let clock: SteppingClock
    private let errors: Mutex<[RemoteError]>
    private let asked = Mutex<[Duration]>([])

    /// Makes a remote.
    package init(_ errors: [RemoteError], _ clock: SteppingClock = SteppingClock()) {
        self.errors = Mutex(errors)
        self.clock = clock
    }

    /// When it was asked for listings.
    package var times: [Duration] { asked.withLock { $0 } }

    package var limits: RemoteLimits { base.limits }
    package func describe() -> String { "failing" }
    package func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        asked.withLock { $0.append(clock.now) }
        if let error = errors.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw error }
        return try await base.list(prefix, after: after)
    }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await base.get(name, range)
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) { try await base.delete(name) }
}

/// The error that a call throws; nil if it succeeds.
package func failure(_ body: () async throws(RemoteError) -> Void) async -> RemoteError? {
    do throws(RemoteError) {
        try await body()
        return nil
    } catch {
        return error
    }
}
