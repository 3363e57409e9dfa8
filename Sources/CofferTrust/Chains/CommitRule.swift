package import CofferFormat

/// The standing of an identity from one link of the member chain on.
struct Standing: Equatable, Sendable {
    /// The sequence of the link.
    let sequence: UInt64
    /// The role; nil if the identity is not a member, or has no valid keys.
    let role: Role?
    /// The key that commits must be signed with; nil if there is none.
    let signing: SigningPublicKey?
    /// The last commits that count of those that name earlier links; nil if the link does not bound them.
    let bounds: LogBounds?
    /// Whether the bounds do not affect commits that only acknowledge.
    let isAcknowledging: Bool
}

/// The statements of a commit on which its author's right depends.
package struct CommitClaim: Equatable, Sendable {
    /// The claimed author.
    package let author: IdentityID
    /// The log that the commit is in.
    package let log: LogID
    /// The number of the commit in the log.
    package let sequence: UInt64
    /// The hash of the commit.
    package let hash: CommitHash
    /// The head of the member chain that the commit names.
    package let head: LinkHead
    /// Whether the commit changes anything, or only acknowledges.
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
    /// It names a link that the known chain does not have yet: fetch the member chain, and try again.
    case unknownHead
    /// It names another link than the chain has at that place.
    case otherHead
    /// Its author was not a member, or had no valid keys, at the head that it names.
    case notMember
    /// Its author did not have this right at the head that it names.
    case missingRight(Permission)
    /// A link that removed its author, ended the right, or introduced other keys bounds its log before this
    /// commit, or does not name its log. `writes` says whether the commit changes anything.
    case tooLate(link: UInt64, writes: Bool = true)
    /// A link bounds its log at a commit with this number and another hash.
    case notTheBound(link: UInt64)
}

extension TrustChain where State == MemberLedger {
    /// The role that an identity had after a link; nil if it was not a member then, or had no valid keys.
    package func role(of identity: IdentityID, after link: UInt64) -> Role? {
        state.standings[identity, default: []].last { $0.sequence <= link }?.role
    }

    /// Checks whether a commit counts, as far as that depends on its author's right.
    ///
    /// Every device with the same member chain gets the same answer, whenever the commit arrives.
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
            // A member who may only read from now on still acknowledges.
            guard let bounds = later.bounds, claim.writes || !later.isAcknowledging else { continue }
            guard let bound = bounds[claim.log], claim.sequence <= bound.sequence else {
                throw .tooLate(link: later.sequence, writes: claim.writes)
            }
            guard claim.sequence < bound.sequence || claim.hash == bound.hash else {
                throw .notTheBound(link: later.sequence)
            }
        }
        return signing
    }
}
