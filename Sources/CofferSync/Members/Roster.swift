package import CofferFormat
package import CofferTrust
internal import CofferRemote

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

extension SyncEngine {
    /// Lists the members, as far as this device knows.
    ///
    /// - Parameter verified: The identities whose fingerprints this user has compared.
    package func roster(verified: Set<IdentityID>) async throws(SyncError) -> Roster {
        try await alone { () async throws(SyncError) in
            try await load()
            let members = chain.state.members.values.map { rosterMember($0, verified) }
            let invites = try await setup.invites?.load().all ?? []
            return Roster(
                members: members.sorted {
                    ($0.role.rawValue, $0.name ?? "\u{10FFFF}", $0.identity)
                        < ($1.role.rawValue, $1.name ?? "\u{10FFFF}", $1.identity)
                },
                pending: invites.map { Roster.Pending(invite: $0.id, role: $0.role, expires: $0.expires) },
                owed: chain.state.owed, forks: duties.forks, epoch: chain.state.epoch)
        }
    }

    /// The other members and their names, as far as this device knows at this moment.
    ///
    /// Unlike `roster`, this does not wait for a round to end.
    ///
    /// - Returns: Nil for the name of a member that has not given one.
    package func otherMembers() async -> [IdentityID: String?] {
        if !isRunning, !isLoaded {
            try? await alone { () async throws(SyncError) in try await load() }
        }
        var names: [IdentityID: String?] = [:]
        for identity in chain.state.members.keys where identity != ownIdentity {
            names.updateValue(knownName(of: identity), forKey: identity)
        }
        return names
    }

    private func rosterMember(_ member: MemberLedger.Member, _ verified: Set<IdentityID>) -> Roster.Member {
        Roster.Member(
            identity: member.identity, name: knownName(of: member.identity), role: member.role,
            fingerprint: Fingerprint(of: member.identity), joined: chain.links[Int(member.joined)].time,
            addedBy: chain.signer(ofLink: member.joined), isVerified: verified.contains(member.identity),
            isSelf: member.identity == ownIdentity, keys: keyStanding(member))
    }

    private func keyStanding(_ member: MemberLedger.Member) -> Roster.KeyStanding {
        guard member.keys != nil, let identity = identities[member.identity] else { return .revoked }
        guard !identity.state.isRevoked else { return .revoked }
        guard identity.state.current == member.keys else { return .rolled }
        guard let kept = user(of: member.identity).flatMap({ duties.cards[$0] }),
            let key = try? TransientKey(kept.transient, of: identity)
        else { return .unseen }
        return key.validity(at: time) == .expired
            ? .expired(key.record.until) : .valid(until: key.record.until)
    }
}
