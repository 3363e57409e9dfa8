internal import CofferFormat
internal import CofferTrust

/// A vault's members as a device knows them: the member chain, and the identities that it names.
///
/// Every identity that a link names is known before the link is appended, so the chain can always be verified
/// again from what is saved.
struct KnownMembers: Sendable {
    /// The links verified so far, and what follows from them.
    private(set) var chain: MemberChain
    /// The identities, by identity.
    private(set) var identities = KnownIdentities()
    /// The same identities, by the users that they have beside the vault.
    private(set) var identityChains: [UserID: IdentityChain] = [:]
    /// Finds identities beside the vault.
    var search = IdentitySearch()

    init(vault: VaultID) {
        chain = MemberChain(id: ChainID(vault))
    }

    // MARK: Looking

    /// The user of an identity; nil if it is not known.
    func user(of identity: IdentityID) -> UserID? {
        identities[identity].map { UserID(low: $0.id.low, high: $0.id.high) }
    }

    /// The role of an identity; nil if it is not a member with valid keys.
    func role(of identity: IdentityID) -> Role? {
        let member = chain.state.members[identity]
        return member?.keys == nil ? nil : member?.role
    }

    /// Whether an identity is an owner or admin with valid keys, whose checkpoints need no confirmation.
    func isAdministrator(_ identity: IdentityID) -> Bool {
        let role = role(of: identity)
        return role == .owner || role == .admin
    }

    /// All signing keys that an identity's chain has ever named.
    func signingKeys(of identity: IdentityID) -> [SigningPublicKey] {
        guard let known = identities[identity] else { return [] }
        return (0..<known.nextSequence).compactMap { known.state.keys(after: $0)?.signing }
    }

    /// Why an identity is not a member with valid keys; nil if it is one.
    ///
    /// - Parameter name: Returns the name of a member, for messages.
    func exclusion(of identity: IdentityID, name: (IdentityID) -> String) -> SyncError? {
        if let member = chain.state.members[identity] {
            return member.keys == nil ? .membership(.revoked) : nil
        }
        guard chain.hasKnown(identity) else { return .notMember }
        let removal = chain.state.removals.last { $0.identity == identity && !$0.hasLeft }
        guard let removal, !hasLeft(identity, after: removal.sequence) else { return .membership(.left) }
        return .membership(.removed(by: name(removal.remover), link: removal.sequence))
    }

    /// Whether an identity came back after a link, and then left.
    private func hasLeft(_ identity: IdentityID, after sequence: UInt64) -> Bool {
        chain.links.suffix(from: Int(sequence)).contains { link in
            guard case .leave? = MemberOperation(link) else { return false }
            return chain.signer(ofLink: link.sequence) == identity
        }
    }

    /// The bounds that a member stated when it left; nil if no such link is known.
    func boundsOfLeave(by identity: IdentityID) -> LogBounds? {
        for link in chain.links.reversed() where chain.signer(ofLink: link.sequence) == identity {
            if case .leave(_, let bounds)? = MemberOperation(link) { return bounds }
        }
        return nil
    }

    // MARK: Changing

    /// Verifies the next link and appends it.
    ///
    /// - Returns: False if the chain has the link already.
    mutating func append(_ bytes: [UInt8]) throws(TrustError) -> Bool {
        try chain.append(bytes, knowing: identities) == .added
    }

    /// Why the chain refuses a link; nil if it accepts the link, or has it.
    func problem(of bytes: [UInt8]) -> TrustError? {
        var copy = chain
        do throws(TrustError) {
            try copy.append(bytes, knowing: identities)
            return nil
        } catch {
            return error
        }
    }

    /// Adds an identity, or new links of one.
    ///
    /// - Returns: False if another history of the identity is known, which stays.
    mutating func add(_ identity: IdentityChain) -> Bool {
        guard identities.add(identity) else { return false }
        let known = identity.identity.flatMap { identities[$0] } ?? identity
        identityChains[UserID(low: identity.id.low, high: identity.id.high)] = known
        return true
    }

    /// Replaces the known link of a fork, and all links after it, by the other link.
    ///
    /// - Returns: The rows to save.
    mutating func adopt(_ fork: Fork) throws(TrustError) -> [KeptChange] {
        let old = chain.nextSequence
        chain = try chain.adopting(fork, knowing: identities)
        var rows = [Self.row(fork.sequence, fork.other.bytes)]
        for sequence in fork.sequence + 1..<max(old, fork.sequence + 1) {
            rows.append(Self.row(sequence, nil))
        }
        return rows
    }

    // MARK: Rows

    /// The row that saves a link of the member chain.
    static func row(_ sequence: UInt64, _ link: [UInt8]?) -> KeptChange {
        KeptChange(KeptRow.Key(.memberLink, number: sequence), link)
    }

    /// The rows that save an identity's links from a number on.
    static func rows(of identity: IdentityChain, from first: UInt64 = 0) -> [KeptChange] {
        let user = UserID(low: identity.id.low, high: identity.id.high)
        return identity.links.dropFirst(Int(first)).map {
            KeptChange(KeptRow.Key(.identityLink, id: user.bytes, number: $0.sequence), $0.bytes)
        }
    }

    /// All rows that save the members.
    var rows: [KeptChange] {
        chain.links.map { Self.row($0.sequence, $0.bytes) }
            + identityChains.values.flatMap { Self.rows(of: $0) }
    }

    /// Replaces the chain by a saved one, unless it is the same.
    ///
    /// - Parameters:
    ///   - links: The links of the member chain, by number.
    ///   - identityLinks: The links of each identity.
    mutating func restore(
        _ links: [UInt64: [UInt8]], _ identityLinks: [UserID: [UInt64: [UInt8]]]
    ) throws(TrustError) {
        let isSame =
            chain.links.count == links.count && chain.links.allSatisfy { links[$0.sequence] == $0.bytes }
        guard !isSame else { return }
        for (user, links) in identityLinks {
            var identity = IdentityChain(id: ChainID(user))
            for (_, bytes) in links.sorted(by: { $0.key < $1.key }) { try identity.append(bytes) }
            identityChains[user] = identity
            identities.add(identity)
        }
        var restored = MemberChain(id: chain.id)
        for (_, bytes) in links.sorted(by: { $0.key < $1.key }) {
            try restored.append(bytes, knowing: identities)
        }
        chain = restored
    }
}

extension MemberOperation {
    /// Decodes what a link does, without checking its signature; nil if it is not a member operation.
    init?(ofLink bytes: [UInt8]) {
        guard let record = try? LinkRecord(bytes), record.kind == Self.kind else { return nil }
        self.init(record)
    }

    /// Decodes what a link of a member chain does; nil if it is not a member operation.
    init?(_ record: LinkRecord) {
        let body = record.body
        guard let operation = try? unsafe MemberOperation(code: record.code, body: body.span.bytes) else {
            return nil
        }
        self = operation
    }

    /// The identity that becomes a member by it.
    var newMember: IdentityID? {
        switch self {
        case .createVault(let identity, _, _, _), .addMember(let identity, _, _, _, _): identity
        default: nil
        }
    }
}
