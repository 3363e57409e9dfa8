internal import CofferRemote

/// How a listing continues after a page.
enum ListingStep {
    /// With the next page.
    case next
    /// After this name, if the page ends before it.
    case behind(RemoteName)
    /// Not at all.
    case enough
}

/// The most pages of one listing: with a thousand names each, more than any vault has.
private let pageCountMax = 10_000

extension RemoteBackend {
    /// Lists the objects below a prefix, page by page.
    ///
    /// Ends even if the storage lists in circles or without end: it then throws. The body must bound what it
    /// keeps of the entries.
    ///
    /// - Parameters:
    ///   - start: The listing begins after this name; nil for the beginning.
    ///   - body: Receives the entries of each page.
    func list(
        _ prefix: RemotePrefix, behind start: RemoteName? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: ([RemotePage.Entry]) -> ListingStep
    ) async throws(RemoteError) {
        var after = start
        for _ in 0..<pageCountMax {
            let page = try await list(prefix, after: after)
            let step = body(page.entries.filter { prefix.contains($0.name) })
            guard let next = page.next else { return }
            // A listing that goes back would never end.
            if let after, next <= after { throw .failed("a listing goes back") }
            switch step {
            case .next: after = next
            case .behind(let name): after = max(next, name)
            case .enough: return
            }
        }
        throw .failed("a listing has no end")
    }
}
