internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A signed object that this device has, and its name at the remote.
private struct KeptObject: Sendable {
    let name: RemoteName
    let bytes: [UInt8]
}

/// What the remote has in place of such an object.
private struct LostObject: Sendable {
    let object: KeptObject
    let found: Fetched

    var isAbsent: Bool { found == .absent }
    /// The object there; nil if there is none, or it is too long.
    var bytes: [UInt8]? { if case .bytes(let bytes) = found { bytes } else { nil } }
}

/// Kinds of objects that are compared with the remote, a few at each inspection.
enum ComparedKind: Hashable, Sendable {
    case links, lostLinks, identities, lostIdentities, wraps, lostWraps
}

// Signed objects that the remote has lost or replaced: each device that has one puts it back. Readers check
// every object, so it does not matter which device does that.
extension SyncEngine {
    /// The most objects of a kind that are put back in one round.
    private static let putAgainCountMax = 64
    /// The most objects of a kind that are compared in one round although a listing shows them.
    private static let comparedCountMax = 32

    // MARK: Links of the member chain

    /// Puts back links that the remote lacks, or has other bytes in place of.
    ///
    /// - Parameter last: Links at the end of the chain, in order; the one before them is the same at the
    ///   remote.
    func putLinksAgain(_ last: [LinkRecord]) async throws(SyncError) {
        let (layout, remote, chain) = (layout, remote, chain)
        let isBroken = try await reaching { () async throws(RemoteError) in
            try await remote.hasLinks(behind: chain, layout)
        }
        if isBroken { note(.membership(.linkMissing(chain.nextSequence))) }
        let listed = try await sizes(below: layout.members) { RemoteLayout.sequence(of: $0) != nil }
        var links: [RemoteName: LinkRecord] = [:]
        for link in chain.links { links[layout.member(link.sequence)] = link }
        func kept(_ link: LinkRecord) -> KeptObject {
            KeptObject(name: layout.member(link.sequence), bytes: link.bytes)
        }
        let places = Set(last.map(\.sequence))
        let middle = chain.links.filter { !places.contains($0.sequence) }.map(kept)
        let compared = toCompare(middle, listed, .links, .lostLinks) + last.map(kept)
        for lost in try await differing(compared, byteCountMax: LinkRecord.byteCountMax) {
            guard let link = links[lost.object.name] else { continue }
            // A different link of this vault is part of another history, which is not overwritten.
            if let found = lost.bytes, chain.isLink(found, at: link.sequence) {
                switch try await problem(of: found) {
                case .fork(let fork):
                    try await settle(fork)
                    guard self.chain.head == chain.head else { return }
                    continue
                case .identityMissing(let identity) where addsMember(found):
                    note(.memberLink(sequence: link.sequence, .identityMissing(identity)))
                    continue
                default: break
                }
            }
            guard try await putAgain(lost) else { return }
            note(.membership(.putAgain("link \(link.sequence) of the members")))
        }
    }

    // MARK: Identities

    /// Puts back members' links and transient keys that the remote lacks, or has other bytes in place of.
    func putIdentitiesAgain() async throws(SyncError) {
        let listed = try await sizes(below: layout.identities) { [identityChains] name in
            name.user.map { identityChains[$0] != nil } ?? false
        }
        var objects: [KeptObject] = []
        for (user, identity) in identityChains {
            guard let id = identity.identity, chain.hasKnown(id) else { continue }
            for link in identity.links {
                objects.append(
                    KeptObject(name: layout.identityLink(user, link.sequence), bytes: link.bytes))
            }
            guard chain.state.members[id] != nil, let card = duties.cards[user],
                isTransientKey(card.transient, of: identity)
            else { continue }
            objects.append(KeptObject(name: layout.transientKey(user), bytes: card.transient))
        }
        objects.sort { $0.name < $1.name }
        let compared = toCompare(objects, listed, .identities, .lostIdentities)
        for lost in try await differing(compared, byteCountMax: LinkRecord.byteCountMax) {
            guard let user = lost.object.name.user, let identity = identityChains[user],
                let id = identity.identity
            else { continue }
            // A different key of that identity is newer, or gets its turn; a different link is part of
            // another history.
            if let found = lost.bytes,
                isTransientKey(found, of: identity) || isFork(found, of: lost.object, identity)
            {
                continue
            }
            guard try await putAgain(lost) else { return }
            note(.membership(.putAgain("keys of \(self.name(of: id))")))
        }
    }

    private func isTransientKey(_ bytes: [UInt8], of identity: IdentityChain) -> Bool {
        (try? TransientKey(bytes, of: identity)) != nil
    }

    /// Whether the bytes are a different link in the same place that the identity's keys have signed.
    private func isFork(_ bytes: [UInt8], of object: KeptObject, _ identity: IdentityChain) -> Bool {
        var copy = identity
        do throws(TrustError) { try copy.append(bytes) } catch {
            if case .fork(let fork) = error { return fork.known.bytes == object.bytes }
        }
        return false
    }

    // MARK: Wraps

    /// The most sets of wraps kept for members that were added.
    private static let keptWrapsCountMax = 1024

    /// Keeps sets of wraps that links of the current epoch name, and forgets those of earlier ones.
    ///
    /// Links can name any set, so a set for added members is kept only if it contains wraps for them alone.
    func keepWraps(_ sets: [WrapSet]) async throws(SyncError) {
        let grants = Dictionary(chain.state.grants.map { ($0.wraps, $0) }) { first, _ in first }
        let first = chain.state.grants.first?.wraps
        func isFit(_ set: WrapSet) -> Bool {
            guard let grant = grants[set.hash] else { return false }
            return set.hash == first || grant.fits(set)
        }
        let old = duties.keptWraps.values.filter { !isFit($0) }.map(\.hash)
        var room = Self.keptWrapsCountMax - duties.keptWraps.count + old.count
        var new: [WrapSet] = []
        for set in sets where isFit(set) && duties.keptWraps[set.hash] == nil {
            guard room > 0 || set.hash == first else { continue }
            room -= 1
            new.append(set)
        }
        guard !new.isEmpty || !old.isEmpty else { return }
        let rows =
            new.map { KeptChange(MemberDuties.key(of: $0.hash), $0.record.bytes) }
            + old.map { KeptChange(MemberDuties.key(of: $0), nil) }
        try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
        for set in new { duties.keptWraps[set.hash] = set }
        for hash in old { duties.keptWraps[hash] = nil }
    }

    /// Puts back sets of wraps that the remote has lost, or has other bytes in place of.
    ///
    /// - Parameter listed: The names in a listing, with sizes.
    func putWrapsAgain(_ listed: [RemoteName: Int]) async throws(SyncError) {
        guard let epoch = chain.state.epoch else { return }
        var links: [RemoteName: UInt64] = [:]
        var objects: [KeptObject] = []
        for grant in chain.state.grants {
            let name = layout.wraps(epoch: UInt64(epoch.number), hash: grant.wraps.bytes)
            guard let set = duties.keptWraps[grant.wraps], links[name] == nil else { continue }
            links[name] = grant.sequence
            objects.append(KeptObject(name: name, bytes: set.record.bytes))
        }
        objects.sort { $0.name < $1.name }
        let compared = toCompare(objects, listed, .wraps, .lostWraps)
        // The name is the hash of the set, so other bytes are useless, and more of them all the more.
        let byteCountMax = compared.map(\.bytes.count).max() ?? 0
        for lost in try await differing(compared, byteCountMax: byteCountMax) {
            guard try await putAgain(lost) else { return }
            note(.membership(.putAgain("the vault keys granted by link \(links[lost.object.name] ?? 0)")))
        }
    }

    // MARK: Comparing

    /// The most names of a listing that are kept in memory.
    private static let listedCountMax = 1 << 20

    /// The objects below a prefix, with their sizes.
    private func sizes(
        below prefix: RemotePrefix, where isWanted: (RemoteName) -> Bool
    ) async throws(SyncError) -> [RemoteName: Int] {
        var listed: [RemoteName: Int] = [:]
        try await list(prefix) { entries in
            for entry in entries where isWanted(entry.name) { listed[entry.name] = entry.byteCount }
            return listed.count < Self.listedCountMax ? .next : .enough
        }
        return listed
    }

    /// The objects to compare in this round.
    ///
    /// Mostly those that a listing lacks or shows with another size, and a few of the others. Every object
    /// gets its turn.
    ///
    /// - Parameter objects: In the order of their names.
    private func toCompare(
        _ objects: [KeptObject], _ listed: [RemoteName: Int], _ kind: ComparedKind, _ lost: ComparedKind
    ) -> [KeptObject] {
        let isListed = { (object: KeptObject) in listed[object.name] == object.bytes.count }
        let sound = inTurn(objects.filter(isListed), kind, Self.comparedCountMax)
        let unsound = inTurn(objects.filter { !isListed($0) }, lost, Self.putAgainCountMax)
        return (sound + unsound).sorted { $0.name < $1.name }
    }

    private func inTurn(_ objects: [KeptObject], _ kind: ComparedKind, _ countMax: Int) -> [KeptObject] {
        let start = duties.turns[kind].flatMap { turn in objects.firstIndex { $0.name > turn } } ?? 0
        let some = (objects[start...] + objects[..<start]).prefix(countMax)
        if let last = some.last { duties.turns[kind] = last.name }
        return Array(some)
    }

    /// The objects that the remote lacks, or has other bytes in place of.
    private func differing(
        _ objects: [KeptObject], byteCountMax: Int
    ) async throws(SyncError) -> [LostObject] {
        let fetched = await remote.fetchAll(
            objects.map(\.name), named: { $0 }, byteCountMax: byteCountMax)
        var lost: [LostObject] = []
        for object in objects {
            guard let result = fetched[object.name] else { continue }
            let found = try await reaching { () throws(RemoteError) in try result.get() }
            if found != .bytes(object.bytes) { lost.append(LostObject(object: object, found: found)) }
        }
        return lost
    }

    /// Puts an object; returns false if this user may not write to the remote, or it is full.
    private func putAgain(_ lost: LostObject) async throws(SyncError) -> Bool {
        do throws(RemoteError) {
            try await remote.put(lost.object.name, .memory(lost.object.bytes), ifAbsent: lost.isAbsent)
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

extension MemberLedger.Grant {
    /// The most bytes of one wrap of any suite, with its share of the set.
    private static let wrapByteCountMax = 4096

    /// Whether a set has wraps only for the members that the link grants keys to, and is not oversized.
    fileprivate func fits(_ set: WrapSet) -> Bool {
        set.record.wraps.allSatisfy { identities.contains($0.identity) }
            && set.record.bytes.count <= Self.wrapByteCountMax * max(1, identities.count)
    }
}
