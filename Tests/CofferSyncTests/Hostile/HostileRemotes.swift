import CofferRemote

/// A remote that changes some calls, and forwards all others to another remote.
protocol ForwardingRemote: RemoteBackend {
    var base: any RemoteBackend { get }
}

extension ForwardingRemote {
    var limits: RemoteLimits { base.limits }
    func describe() -> String { base.describe() }
    func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await base.get(name, range)
    }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }

    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await base.list(prefix, after: after)
    }

    func delete(_ name: RemoteName) async throws(RemoteError) { try await base.delete(name) }
}

/// A remote with one object that claims to have a gibibyte.
struct HugeObject: ForwardingRemote {
    let base: any RemoteBackend
    let name: RemoteName

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        guard name == self.name else { return try await base.get(name, range) }
        let bytes = [UInt8](repeating: 0, count: range.clamped(to: 0..<1 << 30).count)
        return RemoteContent(bytes: bytes, objectByteCount: 1 << 30)
    }
}

/// A remote with listings, all or some, that begin again when they end.
struct CircularListing: ForwardingRemote {
    let base: any RemoteBackend
    /// Only listings of names with this segment; nil for all.
    var place: String?

    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        if let place, !prefix.segments.contains(Substring(place)) {
            return try await base.list(prefix, after: after)
        }
        let page = try await base.list(prefix, after: nil)
        return RemotePage(entries: page.entries, next: page.entries.first?.name)
    }
}
