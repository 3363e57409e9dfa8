package import CofferRemote

/// A remote that changes some calls, and forwards all others to another remote.
package protocol ForwardingRemote: RemoteBackend {
    /// The other remote.
    var base: any RemoteBackend { get }
}

extension ForwardingRemote {
    package var limits: RemoteLimits { base.limits }
    package func describe() -> String { base.describe() }
    package func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await base.get(name, range)
    }

    package func put(
        _ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool
    ) async throws(RemoteError) {
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await base.list(prefix, after: after)
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) { try await base.delete(name) }
}
