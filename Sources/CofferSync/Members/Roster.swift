package import CofferFormat
package import CofferTrust

/// The members of a vault and their keys, for display.
package struct Roster: Equatable, Sendable {
    /// A member of the vault.
    package struct Member: Equatable, Sendable {
        /// Its identity.
        package let identity: IdentityID
        /// The name it gives itself; nil if this device has seen neither a commit nor a card of it.
        package let name: String?
        /// Its role.
        package let role: Role
        /// Its fingerprint, to be compared aloud.
        package let fingerprint: Fingerprint
        /// When it was added, in nanoseconds since 1970, by the clock of the member that added it.
        package let joined: Int64
        /// The member that added it; for the maker of the vault, itself.
        package let addedBy: IdentityID?
        /// Whether this user has compared the fingerprint.
        package let isVerified: Bool
        /// Whether it is the user of this device.
        package let isSelf: Bool
        /// Whether its keys can be used.
        package let keys: KeyStanding
    }

    /// The state of a member's keys.
    package enum KeyStanding: Equatable, Sendable {
        /// Its transient key is valid until this time, in nanoseconds since 1970.
        case valid(until: Int64)
        /// Its transient key expired at this time; it has not been online since.
        case expired(Int64)
        /// This device has seen no transient key of it.
        case unseen
        /// It has newer identity keys than the member chain names.
        case rolled
        /// Its identity is revoked.
        case revoked
    }

    /// An invite by this user that has not been used yet.
    package struct Pending: Equatable, Sendable {
        /// The invite.
        package let invite: InviteID
        /// The role that the invited user gets.
        package let role: Role
        /// When it expires, in nanoseconds since 1970.
        package let expires: Int64
    }

    /// All members: owners first, then by name.
    package let members: [Member]
    /// This user's open invites; the first to expire comes first.
    package let pending: [Pending]
    /// Why the vault's key is due to be changed.
    package let owed: Set<MemberLedger.RotationReason>
    /// Places in the member chain that two links claim.
    package let forks: [Fork]
    /// The current epoch of the vault's key.
    package let epoch: Epoch?
}

extension Roster {
    /// - Parameters:
    ///   - invites: This user's open invites.
    ///   - verified: The identities whose fingerprints this user has compared.
    ///   - time: The time, in nanoseconds since 1970.
    init(
        _ members: KnownMembers, _ names: MemberNames, _ duties: MemberDuties, invites: [Invite],
        verified: Set<IdentityID>, at time: Int64
    ) {
        let chain = members.chain
        let all = chain.state.members.values.map { member in
            Member(
                identity: member.identity, name: names.known(member.identity), role: member.role,
                fingerprint: Fingerprint(of: member.identity), joined: chain.links[Int(member.joined)].time,
                addedBy: chain.signer(ofLink: member.joined),
                isVerified: verified.contains(member.identity), isSelf: member.identity == names.own.identity,
                keys: KeyStanding(member, members, duties.cards, at: time))
        }
        self.init(
            members: all.sorted {
                ($0.role.rawValue, $0.name ?? "\u{10FFFF}", $0.identity)
                    < ($1.role.rawValue, $1.name ?? "\u{10FFFF}", $1.identity)
            },
            pending: invites.map { Pending(invite: $0.id, role: $0.role, expires: $0.expires) },
            owed: chain.state.owed, forks: duties.forks, epoch: chain.state.epoch)
    }
}

extension Roster.KeyStanding {
    fileprivate init(
        _ member: MemberLedger.Member, _ members: KnownMembers, _ cards: [UserID: KeptCard], at time: Int64
    ) {
        guard member.keys != nil, let identity = members.identities[member.identity],
            !identity.state.isRevoked
        else {
            self = .revoked
            return
        }
        guard identity.state.current == member.keys else {
            self = .rolled
            return
        }
        let card = members.user(of: member.identity).flatMap { cards[$0] }
        guard let card, let key = try? TransientKey(card.transient, of: identity) else {
            self = .unseen
            return
        }
        let isExpired = key.validity(at: time) == .expired
        self = isExpired ? .expired(key.record.until) : .valid(until: key.record.until)
    }
}
