internal import CofferFormat
internal import CofferRemote

// Listings: a storage that invents names, or pages without end, gets no more memory or time than one that does not.
extension SyncEngine {
    /// The most pages of one listing: with a thousand names each, more than any vault has.
    private static let pageCountMax = 10_000

    /// Lists the objects below a prefix.
    ///
    /// - Parameters:
    ///   - after: Only names behind this one.
    ///   - body: Takes the names of a page; gives the name to go on behind, if that is behind the page.
    func list(
        _ prefix: RemotePrefix, after: RemoteName? = nil,
        _ body: ([RemoteName]) async throws(SyncError) -> RemoteName?
    ) async throws(SyncError) {
        var after = after
        for _ in 0..<Self.pageCountMax {
            let from = after
            let page = try await reaching { () async throws(RemoteError) in
                try await remote.list(prefix, after: from)
            }
            let further = try await body(page.entries.map(\.name).filter { prefix.contains($0) })
            guard let next = page.next else { return }
            // A listing that goes back would have no end.
            if let from, next <= from { throw .remote(.failed("a listing goes back"), during: status.phase) }
            after = max(next, further ?? next)
        }
        throw .remote(.failed("a listing has no end"), during: status.phase)
    }
}
