import CofferRemote
import RemoteConformance

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
