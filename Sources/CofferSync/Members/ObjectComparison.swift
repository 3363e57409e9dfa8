internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A signed object that this device has, and its name at the remote.
struct KeptObject: Equatable, Sendable {
    let name: RemoteName
    let bytes: [UInt8]
}

extension KeptObject {
    /// A link of the member chain.
    init(_ link: LinkRecord, _ layout: RemoteLayout) {
        self.init(name: layout.member(link.sequence), bytes: link.bytes)
    }
}

extension KnownMembers {
    /// The links of those who are or were members, and the transient keys of members, in the order of names.
    func keptIdentities(_ cards: [UserID: KeptCard], _ layout: RemoteLayout) -> [KeptObject] {
        var kept: [KeptObject] = []
        for (user, identity) in identityChains {
            guard let id = identity.identity, chain.hasKnown(id) else { continue }
            for link in identity.links {
                kept.append(
                    KeptObject(name: layout.identityLink(user, link.sequence), bytes: link.bytes))
            }
            guard chain.state.members[id] != nil, let card = cards[user],
                identity.isTransientKey(card.transient)
            else { continue }
            kept.append(KeptObject(name: layout.transientKey(user), bytes: card.transient))
        }
        return kept.sorted { $0.name < $1.name }
    }
}

extension IdentityChain {
    /// Whether bytes are a transient key that the identity has signed.
    func isTransientKey(_ bytes: [UInt8]) -> Bool { (try? TransientKey(bytes, of: self)) != nil }
}

/// What the remote has in place of such an object.
struct LostObject: Sendable {
    let object: KeptObject
    let found: Fetched
}

/// Kinds of objects that are compared with the remote, a few at each inspection.
enum ComparedKind: Hashable, Sendable {
    case links, identities, wraps
}

/// Chooses which objects to compare with the remote, so that each gets its turn.
struct ComparisonTurns: Equatable, Sendable {
    /// The most objects of a kind that are compared in one round because a listing lacks them or shows them
    /// with another size.
    static let lostCountMax = 64
    /// The most objects of a kind that are compared in one round although a listing shows them.
    static let listedCountMax = 32

    /// The last object of each kind that was compared, and the last one that a listing lacked.
    private var (listed, lost): ([ComparedKind: RemoteName], [ComparedKind: RemoteName]) = ([:], [:])

    /// The objects to compare in this round, in the order of their names.
    ///
    /// - Parameters:
    ///   - objects: In the order of their names.
    ///   - sizes: The names in a listing, with sizes.
    mutating func next(
        _ objects: [KeptObject], _ sizes: [RemoteName: Int], _ kind: ComparedKind
    ) -> [KeptObject] {
        let isListed = { (object: KeptObject) in sizes[object.name] == object.bytes.count }
        let sound = Self.inTurn(objects.filter(isListed), &listed[kind], Self.listedCountMax)
        let unsound = Self.inTurn(objects.filter { !isListed($0) }, &lost[kind], Self.lostCountMax)
        return (sound + unsound).sorted { $0.name < $1.name }
    }

    private static func inTurn(
        _ objects: [KeptObject], _ turn: inout RemoteName?, _ countMax: Int
    ) -> [KeptObject] {
        let start = turn.flatMap { turn in objects.firstIndex { $0.name > turn } } ?? 0
        let some = (objects[start...] + objects[..<start]).prefix(countMax)
        if let last = some.last { turn = last.name }
        return Array(some)
    }
}

extension RemoteObjects {
    /// The objects that the remote lacks, or has other bytes in place of.
    func differing(_ objects: [KeptObject], byteCountMax: Int) async throws(SyncError) -> [LostObject] {
        let fetched = await remote.fetchAll(
            objects.map(\.name), named: { $0 }, byteCountMax: byteCountMax)
        var lost: [LostObject] = []
        for object in objects {
            guard let result = fetched[object.name] else { continue }
            let found = try content(result)
            if found != .bytes(object.bytes) { lost.append(LostObject(object: object, found: found)) }
        }
        return lost
    }

    /// Puts an object; returns false if this user may not write to the remote, or it is full.
    func putAgain(_ lost: LostObject) async throws(SyncError) -> Bool {
        do throws(RemoteError) {
            try await remote.put(
                lost.object.name, .memory(lost.object.bytes), ifAbsent: lost.found == .absent)
            return true
        } catch {
            switch error {
            case .exists:
                // Another device has put it, or something else.
                do throws(RemoteError) {
                    return try await remote.holds(lost.object.name, .memory(lost.object.bytes))
                } catch {
                    throw SyncError(error, during: phase)
                }
            case .readOnly, .full, .refused: return false
            default: throw SyncError(error, during: phase)
            }
        }
    }
}
