internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// An identity as published beside a vault: its links, and its newest transient key.
struct PublishedIdentity: Sendable {
    let chain: IdentityChain
    let transient: TransientKey
    let layout: RemoteLayout

    /// Whether the identity's current key has signed the transient key.
    var isValid: Bool { (try? TransientKey(transient.record.bytes, of: chain)) != nil }

    /// Puts what the remote lacks: links in order, then the transient key.
    ///
    /// - Throws: `.membership(.identityForked)` if the remote has a different link signed by the same keys.
    func put(at remote: any RemoteBackend) async throws(SyncError) {
        guard let last = chain.links.last else { return }
        do throws(RemoteError) {
            // Links are put in order: if the last one is there, all are.
            let name = layout.identityLink(chain.id, last.sequence)
            if try await remote.fetch(name, byteCountMax: LinkRecord.byteCountMax) == .bytes(last.bytes) {
                return try await putTransient(at: remote)
            }
        } catch {
            throw Self.failure(error)
        }
        for link in chain.links {
            let isOwn: Bool
            do throws(RemoteError) { isOwn = try await put(link, at: remote) } catch {
                throw Self.failure(error)
            }
            guard isOwn else { throw .membership(.identityForked) }
        }
        do throws(RemoteError) { try await putTransient(at: remote) } catch { throw Self.failure(error) }
    }

    private static func failure(_ error: RemoteError) -> SyncError {
        error == .cancelled ? .cancelled : .remote(error, during: .members)
    }

    /// Returns false if a different link, signed by the identity's own keys, is in its place.
    private func put(_ link: LinkRecord, at remote: any RemoteBackend) async throws(RemoteError) -> Bool {
        let name = layout.identityLink(chain.id, link.sequence)
        do throws(RemoteError) {
            try await remote.put(name, .memory(link.bytes), ifAbsent: true)
            return true
        } catch {
            guard error == .exists else { throw error }
        }
        guard case .bytes(let found) = try await remote.fetch(name, byteCountMax: LinkRecord.byteCountMax),
            found != link.bytes
        else { return true }
        var chain = chain
        do throws(TrustError) { try chain.append(found) } catch {
            if case .fork = error { return false }
            // The object there is not a link: an obstacle, which is overwritten.
            try await remote.put(name, .memory(link.bytes), ifAbsent: false)
        }
        return true
    }

    private func putTransient(at remote: any RemoteBackend) async throws(RemoteError) {
        guard isValid else { return }
        let name = layout.transientKey(chain.id)
        let found = try await remote.fetch(name, byteCountMax: TransientKeyRecord.byteCount)
        guard found != .bytes(transient.record.bytes), !isNewer(found) else { return }
        try await remote.put(name, .memory(transient.record.bytes), ifAbsent: false)
    }

    /// Whether another device of this user has put a newer key.
    private func isNewer(_ found: Fetched) -> Bool {
        guard case .bytes(let bytes) = found, let key = try? TransientKey(bytes, of: chain) else {
            return false
        }
        return key.record.from > transient.record.from
    }
}
