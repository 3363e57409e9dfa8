package import CofferCrypto
package import CofferFormat

/// The identity keys of a person, for everybody to see.
package typealias IdentityChain = TrustChain<IdentityLedger>

/// What an identity chain amounts to.
///
/// Each link is signed by the key that is current in front of it, link 0 by the key that it brings. A new key
/// signs too, so that nobody can claim another's. No key comes back, and after Revoke nothing follows.
package struct IdentityLedger: Ledger {
    /// Names the person for all others: the hash of link 0; nil without it.
    package private(set) var identity: IdentityID?
    /// The keys after each link, nil after Revoke.
    private var keys: [IdentityPublicKeys?] = []
    private let chain: ChainID

    /// Before link 0.
    package init(chain: ChainID) {
        self.chain = chain
    }

    /// The keys that count now; nil without links, and once the identity is revoked.
    package var current: IdentityPublicKeys? { keys.last ?? nil }

    /// Whether the person has said that none of the keys is to be trusted any more.
    package var isRevoked: Bool { keys.last == .some(nil) }

    /// The keys that counted after a link; nil if the link was Revoke, or is not there.
    package func keys(after sequence: UInt64) -> IdentityPublicKeys? {
        sequence < UInt64(keys.count) ? keys[Int(sequence)] : nil
    }

    package mutating func apply(
        _ operation: IdentityOperation, of link: LinkRecord, knowing context: Void
    ) throws(TrustError) {
        if case .initialKeys(let first) = operation {
            guard link.sequence == 0 else { throw .wrongPlace }
            guard link.signer == first.signing else { throw .signerNotTrusted }
            guard !AgreementKey.isWeak(first.agreement.bytes) else { throw .crypto(.weakPublicKey) }
            identity = IdentityID(link.hash.bytes)
            keys = [first]
            return
        }
        guard link.sequence > 0 else { throw .wrongPlace }
        guard let current else { throw .identityRevoked }
        guard link.signer == current.signing else { throw .signerNotTrusted }
        guard case .rollKeys(let next, let possession) = operation else { return keys.append(nil) }
        guard !AgreementKey.isWeak(next.agreement.bytes) else { throw .crypto(.weakPublicKey) }
        for case let used? in keys where used.signing == next.signing || used.agreement == next.agreement {
            throw .usedBefore
        }
        let head = LinkHead(sequence: link.sequence - 1, hash: link.previous)
        try check(
            possession, of: IdentityOperation.possessed(next, in: chain, after: head), by: next.signing,
            for: .identityKeys)
        keys.append(next)
    }
}

extension TrustChain where State == IdentityLedger {
    /// Names the person for all others; nil without link 0.
    package var identity: IdentityID? { state.identity }

    /// A new chain with its link 0.
    package static func founded(
        _ user: UserID, signing: borrowing SigningKey, agreement: AgreementPublicKey, at time: Int64
    ) throws(TrustError) -> IdentityChain {
        var chain = IdentityChain(id: ChainID(user))
        let keys = IdentityPublicKeys(signing: signing.publicID, agreement: agreement)
        try chain.append(try chain.link(.initialKeys(keys), at: time, by: signing))
        return chain
    }

    /// Makes a link that puts new keys into the place of the current ones.
    package func rolling(
        to signing: borrowing SigningKey, agreement: AgreementPublicKey, at time: Int64,
        by current: borrowing SigningKey
    ) throws(TrustError) -> [UInt8] {
        guard let head else { throw .wrongPlace }
        let keys = IdentityPublicKeys(signing: signing.publicID, agreement: agreement)
        let possessed = IdentityOperation.possessed(keys, in: id, after: head)
        let possession = signing.sign(possessed, for: .identityKeys)
        return try link(.rollKeys(keys, possession: possession), at: time, by: current)
    }
}

/// Verified identity chains, by the identity that each is of.
package struct KnownIdentities: Sendable {
    private var chains: [IdentityID: IdentityChain] = [:]

    /// None.
    package init() {}

    /// Takes chains, as `add` does one after the other.
    package init(_ chains: [IdentityChain]) {
        for chain in chains { add(chain) }
    }

    /// Takes a chain, in place of one that it goes on from.
    ///
    /// - Returns: False if another chain of that identity was seen first, which stays: somebody has forked it.
    @discardableResult
    package mutating func add(_ chain: IdentityChain) -> Bool {
        guard let identity = chain.identity else { return true }
        guard let known = chains[identity], let head = known.head, let last = chain.head else {
            chains[identity] = chain
            return true
        }
        if (try? known.expect(last)) != nil { return true }
        guard (try? chain.expect(head)) != nil else { return false }
        chains[identity] = chain
        return true
    }

    /// The chain of an identity.
    package subscript(identity: IdentityID) -> IdentityChain? { chains[identity] }

    /// The keys of an identity after a link that somebody names; nil if that link revoked it.
    ///
    /// - Throws: `.identityMissing`, `.identityHeadDiffers`.
    func keys(of identity: IdentityID, at head: LinkHead) throws(TrustError) -> IdentityPublicKeys? {
        guard let chain = chains[identity], head.sequence < chain.nextSequence else {
            throw .identityMissing(identity)
        }
        guard chain.links[Int(head.sequence)].hash == head.hash else { throw .identityHeadDiffers(identity) }
        return chain.state.keys(after: head.sequence)
    }
}
