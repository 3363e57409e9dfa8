internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A signed object that this device has, and where it belongs.
private struct KeptObject: Sendable {
    let name: RemoteName
    let bytes: [UInt8]
}

/// What the remote has in the place of such an object.
private struct LostObject: Sendable {
    let object: KeptObject
    let found: Fetched

    var isAbsent: Bool { found == .absent }
    /// What is there; nil where nothing is, or too much of it.
    var bytes: [UInt8]? { if case .bytes(let bytes) = found { bytes } else { nil } }
}

/// Kinds of objects that are compared with the remote, some of them at each inspection.
enum ComparedKind: Hashable, Sendable {
    case links, lostLinks, identities, lostIdentities, wraps, lostWraps
}

// Signed objects that the remote has lost, or has something else in place of: whoever holds one puts it again. Each is
// checked by whoever reads it, so it does not matter who puts it.
extension SyncEngine {
    /// The most objects of a kind that are put again in one round.
    private static let putAgainCountMax = 64
    /// How many objects of a kind that seem to be there are compared in one round.
    private static let comparedCountMax = 32

    // MARK: Links of the member chain

    /// Puts links again that the remote does not have, or has something else in place of.
    ///
    /// - Parameter last: Those at the end of the chain, in order; the one in front of them is the same there.
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
            // Another link of this vault is another history, which is not overwritten.
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

    /// Puts links and transient keys of members again that the remote does not have, or has something else in place of.
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
            // Another key of that identity is a newer one, or has its turn; another link is another history.
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

    /// Whether some bytes in a link's place are a link there that the identity's keys have signed.
    private func isFork(_ bytes: [UInt8], of object: KeptObject, _ identity: IdentityChain) -> Bool {
        var copy = identity
        do throws(TrustError) { try copy.append(bytes) } catch {
            if case .fork(let fork) = error { return fork.known.bytes == object.bytes }
        }
        return false
    }

    // MARK: Wraps

    /// The most sets of wraps of members who were added that are kept.
    private static let keptWrapsCountMax = 1024

    /// Keeps sets of wraps that links of the present epoch name, and forgets those of earlier ones.
    ///
    /// Who signs links may name any sets: of those that add members only such are kept as have nothing else in them.
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

    /// Puts sets of wraps again that the remote has lost, or has something else in place of.
    ///
    /// - Parameter listed: What a listing has, with sizes.
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
        // Its name is the hash of a set: other bytes are none that somebody wants, least of all more of them.
        let byteCountMax = compared.map(\.bytes.count).max() ?? 0
        for lost in try await differing(compared, byteCountMax: byteCountMax) {
            guard try await putAgain(lost) else { return }
            note(.membership(.putAgain("the keys that link \(links[lost.object.name] ?? 0) gives")))
        }
    }

    // MARK: Comparing

    /// The most names of a listing that are remembered.
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

    /// Which of some objects are compared in this round.
    ///
    /// Those that a listing does not have, or with another size; and a few of the others. All have their turn.
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

    /// The objects that the remote has something else in place of, or nothing.
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

    /// Puts an object; false where this user may put nothing.
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
    /// The most bytes of a wrap of any suite, with all that belongs to it.
    private static let wrapByteCountMax = 4096

    /// Whether a set has wraps for those alone who are to have them, and nothing that only takes room.
    fileprivate func fits(_ set: WrapSet) -> Bool {
        set.record.wraps.allSatisfy { identities.contains($0.identity) }
            && set.record.bytes.count <= Self.wrapByteCountMax * max(1, identities.count)
    }
}
