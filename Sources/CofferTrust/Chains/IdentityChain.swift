package import CofferCrypto
package import CofferFormat

/// The identity keys of a person, which are public.
package typealias IdentityChain = TrustChain<IdentityLedger>

/// The state that results from an identity chain.
///
/// Each link is signed by the key that is current before it, and link 0 by the key that it introduces. A new
/// key signs as well, so that nobody can claim another person's key. No key is used twice, and nothing
/// follows Revoke.
package struct IdentityLedger: Ledger {
    /// Identifies the person for all others: the hash of link 0; nil without link 0.
    package private(set) var identity: IdentityID?
    /// The keys after each link; nil after Revoke.
    private var keys: [IdentityPublicKeys?] = []
    private let chain: ChainID

    /// The state before link 0.
    package init(chain: ChainID) {
        self.chain = chain
    }

    /// The keys that are valid now; nil without links, and once the identity is revoked.
    package var current: IdentityPublicKeys? { keys.last ?? nil }

    /// Whether the person has revoked the identity, so that none of its keys is trusted any longer.
    package var isRevoked: Bool { keys.last == .some(nil) }

    /// The keys that were valid after a link; nil if that link is Revoke, or does not exist.
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
    /// Identifies the person for all others; nil without link 0.
    package var identity: IdentityID? { state.identity }

    /// Makes a new chain with its link 0.
    package static func founded(
        _ user: UserID, signing: borrowing SigningKey, agreement: AgreementPublicKey, at time: Int64
    ) throws(TrustError) -> IdentityChain {
        var chain = IdentityChain(id: ChainID(user))
        let keys = IdentityPublicKeys(signing: signing.publicID, agreement: agreement)
        try chain.append(try chain.link(.initialKeys(keys), at: time, by: signing))
        return chain
    }

    /// Makes a link that replaces the current keys by new ones.
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

/// Verified identity chains, by identity.
package struct KnownIdentities: Sendable {
    private var chains: [IdentityID: IdentityChain] = [:]

    /// Begins without chains.
    package init() {}

    /// Adds chains one after another, as `add` does.
    package init(_ chains: [IdentityChain]) {
        for chain in chains { add(chain) }
    }

    /// Adds a chain, or replaces a known one that it continues.
    ///
    /// - Returns: False if a different chain of the same identity was added before. That one stays; the
    ///   identity chain was forked.
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

    /// The chain of an identity; nil if it is not known.
    package subscript(identity: IdentityID) -> IdentityChain? { chains[identity] }

    /// The keys of an identity after the given link; nil if that link revoked it.
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
