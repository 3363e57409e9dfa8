internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Signed objects that the remote has lost: whoever holds one puts it again. Each is checked by whoever reads it, so it
// does not matter who puts it.
extension SyncEngine {
    /// The most objects of a kind that are put again in one round.
    private static let putAgainCountMax = 64

    // MARK: Links of the member chain

    /// Puts links again that the remote does not have, or has something else in place of.
    ///
    /// - Parameter last: Those at the end of the chain, in order; what stands in front of them is the same there.
    func putLinksAgain(_ last: [LinkRecord]) async throws(SyncError) {
        let (layout, remote, chain) = (layout, remote, chain)
        let isBroken = try await reaching { () async throws(RemoteError) in
            try await remote.hasLinks(behind: chain, layout)
        }
        if isBroken { note(.membership(.linkMissing(chain.nextSequence))) }
        var listed: Set<UInt64> = []
        try await list(layout.members) { entries in
            listed.formUnion(entries.compactMap { RemoteLayout.sequence(of: $0.name) })
            return listed.count < Self.listedCountMax ? .next : .enough
        }
        // Of those in the middle, only what a listing does not have: nobody follows the chain over a gap.
        let middle = chain.links.filter { link in
            !listed.contains(link.sequence) && !last.contains { $0.sequence == link.sequence }
        }
        for link in middle.prefix(Self.putAgainCountMax) + last {
            let name = layout.member(link.sequence)
            let found = try await fetchLink(name)
            guard found != link.bytes else { continue }
            // Another link of this vault is a fork, and for others to decide.
            if let found, chain.isLink(found, at: link.sequence), try await isOfOtherHistory(found) {
                continue
            }
            guard try await putAgain(name, link.bytes, ifAbsent: found == nil) else { return }
            note(.membership(.putAgain("link \(link.sequence) of the members")))
        }
    }

    /// The most names of a listing that are remembered.
    private static let listedCountMax = 1 << 20

    // MARK: Identities

    /// Puts links and transient keys of members again that the remote does not list.
    func putIdentitiesAgain() async throws(SyncError) {
        var listed: Set<RemoteName> = []
        try await list(layout.identities) { entries in
            for entry in entries where entry.name.user.map({ identityChains[$0] != nil }) == true {
                listed.insert(entry.name)
            }
            return listed.count < Self.listedCountMax ? .next : .enough
        }
        var count = 0
        for (user, identity) in identityChains.sorted(by: { $0.key < $1.key }) {
            guard let id = identity.identity, chain.hasKnown(id) else { continue }
            var objects = identity.links.map { (layout.identityLink(user, $0.sequence), $0.bytes) }
            if chain.state.members[id] != nil, let card = duties.cards[user] {
                objects.append((layout.transientKey(identity.id), card.transient))
            }
            for (name, bytes) in objects where !listed.contains(name) {
                guard count < Self.putAgainCountMax else { return }
                count += 1
                // A listing may lag behind.
                let isThere = try await reaching { () async throws(RemoteError) in try await remote.has(name)
                }
                if isThere { continue }
                guard try await putAgain(name, bytes, ifAbsent: true) else { return }
                note(.membership(.putAgain("keys of \(self.name(of: id))")))
            }
        }
    }

    // MARK: Wraps

    /// Keeps sets of wraps that links of the present epoch name, and forgets those of earlier ones.
    func keepWraps(_ sets: [WrapSet]) async throws(SyncError) {
        let granted = Set(chain.state.grants.map(\.wraps))
        let new = sets.filter { granted.contains($0.hash) && duties.keptWraps[$0.hash] == nil }
        let old = duties.keptWraps.keys.filter { !granted.contains($0) }
        guard !new.isEmpty || !old.isEmpty else { return }
        let rows =
            new.map { SyncRow(MemberDuties.key(of: $0.hash), $0.record.bytes) }
            + old.map { SyncRow(MemberDuties.key(of: $0), nil) }
        try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
        for set in new { duties.keptWraps[set.hash] = set }
        for hash in old { duties.keptWraps[hash] = nil }
    }

    /// Puts sets of wraps again that the remote has lost.
    ///
    /// - Parameter names: Those that a listing does not have.
    func putWrapsAgain(at names: Set<RemoteName>) async throws(SyncError) {
        guard let epoch = chain.state.epoch else { return }
        for grant in chain.state.grants {
            let name = layout.wraps(epoch: UInt64(epoch.number), hash: grant.wraps.bytes)
            guard names.contains(name), let set = duties.keptWraps[grant.wraps] else { continue }
            let isThere = try await reaching { () async throws(RemoteError) in try await remote.has(name) }
            if isThere { continue }
            guard try await putAgain(name, set.record.bytes, ifAbsent: true) else { return }
            note(.membership(.putAgain("the keys that link \(grant.sequence) gives")))
        }
    }

    /// Puts an object; false where this user may put nothing.
    private func putAgain(
        _ name: RemoteName, _ bytes: [UInt8], ifAbsent: Bool
    ) async throws(SyncError) -> Bool {
        do throws(RemoteError) {
            try await remote.put(name, .memory(bytes), ifAbsent: ifAbsent)
            return true
        } catch {
            switch error {
            case .exists: return true
            case .readOnly, .full, .refused: return false
            default: throw error == .cancelled ? .cancelled : .remote(error, during: .members)
            }
        }
    }
}
