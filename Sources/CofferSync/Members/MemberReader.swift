internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// Reads a vault's members from a remote: links of the member chain, and of the identities that they name.
///
/// Saves nothing: the caller saves the rows. Reads only identities that links name, since anybody can put
/// others beside the vault. Asks for each next link by name and does not rely on a listing, which may lag: an
/// existing object cannot be hidden for long.
struct MemberReader: Sendable {
    /// How much is read before it is checked.
    struct Limits: Sendable {
        /// The most links that are fetched before they are checked.
        let linkCountMax: Int
        /// The most users beside the vault that are examined for an identity.
        let userCountMax: Int

        /// For a member's device, which mostly lacks no link, or one.
        static let member = Limits(linkCountMax: 1, userCountMax: IdentitySearch.lookCountMax)
        /// For a device that reads the whole chain: it looks for all identities that a piece of the chain
        /// names in one search.
        static let newcomer = Limits(linkCountMax: 256, userCountMax: IdentitySearch.wholeLookCountMax)
    }

    /// Where reading the member chain ended.
    enum End: Sendable {
        /// Nowhere yet: there may be more links.
        case none
        /// At its end.
        case absent
        /// At a link that is not accepted; without a reason if the chain has the same link in another place.
        case refused([UInt8], TrustError?)
    }

    /// The most links that are read of one identity.
    private static let identityLinkCountMax: UInt64 = 1024
    /// Roughly the most bytes of links that are fetched before they are checked.
    private static let pieceByteCountMax = 4 << 20

    private let objects: RemoteObjects
    private let limits: Limits
    /// What is known so far.
    private(set) var members: KnownMembers
    /// The rows of what was read; `removeRows` removes them.
    private var rows: [KeptChange] = []

    init(_ members: KnownMembers, _ objects: RemoteObjects, _ limits: Limits) {
        (self.members, self.objects, self.limits) = (members, objects, limits)
    }

    /// Returns the rows of what was read since the last call, to be saved.
    mutating func removeRows() -> [KeptChange] {
        defer { rows = [] }
        return rows
    }

    // MARK: The member chain

    /// Reads links of the member chain, in pieces, each of which is checked before the next is fetched.
    ///
    /// - Parameter countMax: The number of links after which it ends.
    mutating func readLinks(countMax: Int = .max) async throws(SyncError) -> End {
        let end = members.chain.nextSequence.addingReportingOverflow(UInt64(countMax))
        while end.overflow || members.chain.nextSequence < end.partialValue {
            let piece = try await piece()
            if piece.isEmpty { return .absent }
            for index in piece.indices {
                switch try await append(piece[index], in: piece[index...]) {
                case .added: continue
                case .known: return .refused(piece[index], nil)
                case .refused(let reason): return .refused(piece[index], reason)
                }
            }
        }
        return .none
    }

    /// The next links at the remote; empty at the end of the chain.
    private func piece() async throws(SyncError) -> [[UInt8]] {
        var links: [[UInt8]] = []
        var byteCount = 0
        while links.count < limits.linkCountMax, byteCount < Self.pieceByteCountMax,
            let bytes = try await objects.link(
                objects.layout.member(members.chain.nextSequence + UInt64(links.count)))
        {
            links.append(bytes)
            byteCount += bytes.count
        }
        return links
    }

    private enum Appended {
        case added, known
        case refused(TrustError)
    }

    /// Verifies a link and appends it.
    ///
    /// The identities that it and the following links name are looked up only once one is needed, so an
    /// invalid link before that costs nothing more.
    private mutating func append(
        _ bytes: [UInt8], in rest: ArraySlice<[UInt8]>
    ) async throws(SyncError) -> Appended {
        let appended = appendVerified(bytes)
        guard case .refused(.identityMissing(let identity)) = appended else { return appended }
        let named = rest.compactMap { MemberOperation(ofLink: $0)?.newMember }
        try await readIdentity(identity, with: Set(named.filter { members.identities[$0] == nil }))
        return appendVerified(bytes)
    }

    private mutating func appendVerified(_ bytes: [UInt8]) -> Appended {
        let sequence = members.chain.nextSequence
        do throws(TrustError) {
            guard try members.append(bytes) else { return .known }
        } catch {
            return .refused(error)
        }
        rows.append(KnownMembers.row(sequence, bytes))
        return .added
    }

    // MARK: Identities

    /// Reads new links of an identity, wherever it is beside the vault.
    ///
    /// - Parameter others: Identities to look for in the same search, if one is needed.
    mutating func readIdentity(
        _ identity: IdentityID, with others: Set<IdentityID> = []
    ) async throws(SyncError) {
        if let user = members.user(of: identity) { return try await readIdentity(user) }
        if members.search.users[identity] == nil {
            var search = members.search
            do throws(RemoteError) {
                try await search.look(
                    for: others.union([identity]), at: objects.remote, objects.layout,
                    countMax: limits.userCountMax)
            } catch {
                throw SyncError(error, during: objects.phase)
            }
            members.search = search
        }
        if let user = members.search.users[identity] { try await readIdentity(user) }
    }

    /// Reads new links of a user's identity.
    mutating func readIdentity(_ user: UserID) async throws(SyncError) {
        var known = members.identityChains[user] ?? IdentityChain(id: ChainID(user))
        let first = known.nextSequence
        while known.nextSequence < Self.identityLinkCountMax,
            let bytes = try await objects.link(objects.layout.identityLink(user, known.nextSequence))
        {
            // An object that is not a link of this identity must not keep others from being read.
            guard (try? known.append(bytes)) == .added else { break }
        }
        guard known.nextSequence > first, members.add(known) else { return }
        rows += KnownMembers.rows(of: known, from: first)
    }
}
