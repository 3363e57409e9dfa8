package import CofferFormat

/// What somebody was from a link of the member chain on.
struct Standing: Equatable, Sendable {
    /// The link.
    let sequence: UInt64
    /// Nil for no member, or one without valid keys.
    let role: Role?
    /// What commits must be signed with.
    let signing: SigningPublicKey?
    /// The last commits that count of those which name earlier links; nil where earlier ones stay as they are.
    let bounds: LogBounds?
    /// Whether the bounds leave commits alone that only acknowledge.
    let isAcknowledging: Bool
}

/// What a commit says about itself, as far as its author's right depends on it.
package struct CommitClaim: Equatable, Sendable {
    /// Who says to have made it.
    package let author: IdentityID
    /// The log that it is in.
    package let log: LogID
    /// Its number in the log.
    package let sequence: UInt64
    /// Its hash.
    package let hash: CommitHash
    /// The head of the member chain that it names.
    package let head: LinkHead
    /// Whether it changes anything, or only acknowledges.
    package let writes: Bool

    package init(
        author: IdentityID, log: LogID, sequence: UInt64, hash: CommitHash, head: LinkHead, writes: Bool
    ) {
        self.author = author
        self.log = log
        self.sequence = sequence
        self.hash = hash
        self.head = head
        self.writes = writes
    }
}

/// Why a commit does not count.
package enum CommitRefusal: Error, Equatable {
    /// It names a link that the chain does not have yet: fetch the member chain, and try again.
    case unknownHead
    /// It names another link than the chain has there.
    case otherHead
    /// Its author was no member, or had no valid keys, at the head that it names.
    case notMember
    /// Its author could not do this at the head that it names.
    case missingRight(Permission)
    /// It comes behind the last commit that counted when its author lost the right, or rolled keys: that link.
    case tooLate(link: UInt64)
    /// The last commit that counted is another one: that link says which.
    case notTheBound(link: UInt64)
}

extension TrustChain where State == MemberLedger {
    /// Whether a commit counts, as far as its author's right goes.
    ///
    /// Everybody who has the same member chain comes to the same answer, whenever the commit arrives.
    ///
    /// - Returns: The key that the commit must be signed with.
    package func signer(of claim: CommitClaim) throws(CommitRefusal) -> SigningPublicKey {
        guard claim.head.sequence < nextSequence else { throw .unknownHead }
        guard links[Int(claim.head.sequence)].hash == claim.head.hash else { throw .otherHead }
        let standings = state.standings[claim.author, default: []]
        guard let then = standings.last(where: { $0.sequence <= claim.head.sequence }), let role = then.role,
            let signing = then.signing
        else { throw .notMember }
        let permission = claim.writes ? Permission.write : .acknowledge
        guard role.may(permission) else { throw .missingRight(permission) }
        for later in standings where later.sequence > claim.head.sequence {
            // Who may only read from now on still acknowledges.
            guard let bounds = later.bounds, claim.writes || !later.isAcknowledging else { continue }
            guard let bound = bounds[claim.log], claim.sequence <= bound.sequence else {
                throw .tooLate(link: later.sequence)
            }
            guard claim.sequence < bound.sequence || claim.hash == bound.hash else {
                throw .notTheBound(link: later.sequence)
            }
        }
        return signing
    }
}
