internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// An identity as published beside a vault: its links, and its newest transient key.
struct PublishedIdentity: Sendable {
    let chain: IdentityChain
    let transient: TransientKey

    /// Whether the identity's current key has signed the transient key.
    var isValid: Bool { (try? TransientKey(transient.record.bytes, of: chain)) != nil }

    /// Puts what the remote lacks: links in order, then the transient key.
    ///
    /// - Returns: A newer transient key that another device of this user has put; nil if there is none.
    /// - Throws: `.membership(.identityForked)` if the remote has a different link signed by the same keys.
    @discardableResult
    func put(at objects: RemoteObjects) async throws(SyncError) -> TransientKey? {
        guard let last = chain.links.last else { return nil }
        // Links are put in order: if the last one is there, all are.
        if try await objects.link(objects.layout.identityLink(chain.id, last.sequence)) != last.bytes {
            for link in chain.links { try await put(link, at: objects) }
        }
        return try await putTransient(at: objects)
    }

    private func put(_ link: LinkRecord, at objects: RemoteObjects) async throws(SyncError) {
        let name = objects.layout.identityLink(chain.id, link.sequence)
        if try await objects.putNew(name, link.bytes) { return }
        guard let found = try await objects.link(name), found != link.bytes else { return }
        var chain = chain
        do throws(TrustError) { try chain.append(found) } catch {
            if case .fork = error { throw .membership(.identityForked) }
            // The object there is not a link: an obstacle, which is overwritten.
            try await objects.put(name, link.bytes)
        }
    }

    private func putTransient(at objects: RemoteObjects) async throws(SyncError) -> TransientKey? {
        guard isValid else { return nil }
        let name = objects.layout.transientKey(chain.id)
        let found = try await objects.fetch(name, byteCountMax: TransientKeyRecord.byteCount)
        if found == .bytes(transient.record.bytes) { return nil }
        if let newer = newer(found) { return newer }
        try await objects.put(name, transient.record.bytes)
        return nil
    }

    /// The key in an object, if it is newer than this one.
    private func newer(_ found: Fetched) -> TransientKey? {
        guard let bytes = found.bytes, let key = try? TransientKey(bytes, of: chain),
            key.record.from > transient.record.from
        else { return nil }
        return key
    }
}
