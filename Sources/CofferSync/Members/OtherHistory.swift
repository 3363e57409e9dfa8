internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// The end of the member chain at a remote, where it differs from the known one.
struct OtherHistory: Sendable {
    /// Known links, and the other links in their places; the last link first.
    private(set) var others: [(known: LinkRecord, bytes: [UInt8])] = []
    /// Known links that the remote lacks, or has other objects in place of.
    private(set) var lost: [LinkRecord] = []
}

extension OtherHistory {
    /// The most links that the end of the remote's chain may lack before the comparison ends.
    static let lostCountMax = 64

    /// Compares links with those at the remote, the last one first, until they are the same.
    ///
    /// - Returns: Nil if too much is missing to tell.
    init?(of chain: MemberChain, at objects: RemoteObjects) async throws(SyncError) {
        guard let head = chain.links.last else { return nil }
        for known in chain.links.reversed() {
            let bytes = try await objects.link(objects.layout.member(known.sequence))
            if bytes == known.bytes { break }
            // The other history may be the shorter one. An object that is not a link of this vault is part of
            // none.
            if let bytes, chain.isLink(bytes, at: known.sequence) {
                others.append((known, bytes))
                continue
            }
            guard head.sequence - known.sequence < UInt64(Self.lostCountMax) else { return nil }
            lost.append(known)
        }
    }
}
