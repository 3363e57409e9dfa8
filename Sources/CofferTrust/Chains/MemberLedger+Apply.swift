package import CofferFormat

extension MemberLedger: Ledger {
    package mutating func apply(
        _ operation: MemberOperation, of link: LinkRecord, knowing context: KnownIdentities
    ) throws(TrustError) {
        if case .createVault(let creator, let head, let commitment, let wraps) = operation {
            guard link.sequence == 0 else { throw .wrongPlace }
            let keys = try context.keys(of: creator, at: head)
            return try create(creator, head, keys, commitment, wraps, link)
        }
        guard link.sequence > 0 else { throw .wrongPlace }
        if case .memberKeysRolled(let identity, let head, let bounds) = operation {
            let keys = try context.keys(of: identity, at: head)
            return try roll(identity, head, keys, bounds, link, context)
        }
        guard let signer = member(signing: link.signer) else { throw .signerNotMember }
        switch operation {
        case .createVault, .memberKeysRolled: throw .wrongPlace
        case .addMember(let identity, let head, let role, let invite, let wraps):
            try require(role.isAdministrative ? .addAdmins : .addMembers, of: signer)
            try admit(identity, head, role, invite, wraps, link, context)
        case .changeRole(let identity, let role, let bounds):
            try changeRole(of: identity, to: role, bounds, by: signer, link)
        case .removeMember(let identity, let start, let bounds):
            try remove(identity, start, bounds, by: signer, link)
        case .rotateKey(let start):
            try require(.rotate, of: signer)
            try begin(start, link)
        case .restoreFromBackup(let bounds):
            try require(.restore, of: signer)
            restores.append(
                Restore(
                    announcer: signer.identity, sequence: link.sequence, time: link.time, bounds: bounds))
        case .leave(let successor, let bounds):
            try require(.leave, of: signer)
            try leave(signer, successor, bounds, link)
        case .keepHistory(let seconds):
            try require(.setHistory, of: signer)
            guard historySeconds != seconds else { throw .nothingNew }
            historySeconds = seconds
        }
    }

    private func require(_ permission: Permission, of member: Member) throws(TrustError) {
        guard may(member.identity, permission) else { throw .missingRight(permission) }
    }

    private mutating func create(
        _ creator: IdentityID, _ head: LinkHead, _ keys: IdentityPublicKeys?, _ commitment: EpochCommitment,
        _ wraps: WrapSetHash, _ link: LinkRecord
    ) throws(TrustError) {
        guard let keys else { throw .identityRevoked }
        guard keys.signing == link.signer else { throw .signerNotTrusted }
        try set(Member(identity: creator, role: .owner, head: head, keys: keys, joined: 0, granted: 0))
        note(creator, link)
        beginnings = [Beginning(epoch: .first, commitment: commitment, sealedPrevious: nil, sequence: 0)]
        grants = [Grant(sequence: 0, wraps: wraps, signer: link.signer, identities: [creator])]
    }

    private mutating func admit(
        _ identity: IdentityID, _ head: LinkHead, _ role: Role, _ invite: InviteID?, _ wraps: WrapSetHash,
        _ link: LinkRecord, _ context: KnownIdentities
    ) throws(TrustError) {
        guard members[identity] == nil else { throw .alreadyMember(identity) }
        // Added again, it would continue to write in its old logs, by its own bounds.
        guard left[identity] == nil else { throw .leftUnbounded(identity) }
        guard members.count < TrustLimits.memberCountMax else { throw .tooManyMembers }
        if let invite {
            guard usedInvites[invite] == nil else { throw .inviteUsed }
            usedInvites[invite] = identity
        }
        guard let keys = try context.keys(of: identity, at: head) else { throw .identityRevoked }
        if let known = heads[identity] {
            // A former member must not return with older keys, or with another identity chain.
            guard known.sequence <= head.sequence else { throw .usedBefore }
            _ = try context.keys(of: identity, at: known)
        }
        try set(
            Member(
                identity: identity, role: role, head: head, keys: keys, joined: link.sequence,
                granted: link.sequence))
        note(identity, link)
        grants.append(
            Grant(sequence: link.sequence, wraps: wraps, signer: link.signer, identities: [identity]))
    }

    private mutating func changeRole(
        of identity: IdentityID, to role: Role, _ bounds: LogBounds, by signer: Member, _ link: LinkRecord
    ) throws(TrustError) {
        guard var member = members[identity] else { throw .notMember(identity) }
        let isAdministrative = role.isAdministrative || member.role.isAdministrative
        try require(isAdministrative ? .changeAdmins : .changeRoles, of: signer)
        guard member.keys != nil else { throw .identityRevoked }
        guard member.role != role else { throw .nothingNew }
        if member.role == .owner, owners.count == 1 { throw .lastOwner }
        let isSilenced = member.role.may(.write) && !role.may(.write)
        guard isSilenced || bounds.bounds.isEmpty else { throw .needlessBounds }
        member.role = role
        try set(member)
        note(identity, link, bounds: isSilenced ? bounds : nil, isAcknowledging: true)
    }

    private mutating func remove(
        _ identity: IdentityID, _ start: MemberOperation.EpochStart, _ bounds: LogBounds, by signer: Member,
        _ link: LinkRecord
    ) throws(TrustError) {
        guard let permission = permission(toRemove: identity) else { throw .notMember(identity) }
        guard identity != signer.identity else { throw .cannotRemoveSelf }
        try require(permission, of: signer)
        let hasLeft = left.removeValue(forKey: identity) != nil
        drop(identity)
        note(identity, link, bounds: bounds)
        try begin(start, link)
        removals.append(
            Removal(
                identity: identity, remover: signer.identity, sequence: link.sequence, time: link.time,
                epoch: start.epoch, bounds: bounds, hasLeft: hasLeft))
    }

    /// Begins the next epoch, which gives its key to all current members, and ends what was owed.
    private mutating func begin(
        _ start: MemberOperation.EpochStart, _ link: LinkRecord
    ) throws(TrustError) {
        guard let last = beginnings.last?.epoch, last.number < .max else { throw .wrongPlace }
        let next = Epoch(last.number + 1)
        guard start.epoch == next else { throw .wrongEpoch(expected: next, found: start.epoch) }
        beginnings.append(
            Beginning(
                epoch: next, commitment: start.commitment, sealedPrevious: start.sealedPrevious,
                sequence: link.sequence))
        if let signer = member(signing: link.signer) { epochCounts[signer.identity, default: 0] += 1 }
        for var member in recipients {
            member.granted = link.sequence
            members[member.identity] = member
        }
        grants = [
            Grant(
                sequence: link.sequence, wraps: start.wraps, signer: link.signer,
                identities: Set(recipients.map(\.identity)))
        ]
        owed = []
    }

    private mutating func roll(
        _ identity: IdentityID, _ head: LinkHead, _ keys: IdentityPublicKeys?, _ bounds: LogBounds,
        _ link: LinkRecord, _ context: KnownIdentities
    ) throws(TrustError) {
        let isOwn = keys?.signing == link.signer && members[identity] != nil
        if isOwn {
            guard members[identity]?.role.may(.rollOwnKeys) == true else {
                throw .missingRight(.rollOwnKeys)
            }
        } else {
            guard let signer = member(signing: link.signer) else { throw .signerNotMember }
            // The old key must not sign for an identity that has a newer one.
            guard signer.identity != identity else { throw .signerNotTrusted }
            try require(.recordKeys, of: signer)
            // The bounds could cut an owner off, so they need an owner's right. A revoked owner can no longer
            // bound its own commits, so any admin may.
            if members[identity]?.role == .owner, keys != nil { try require(.recordOwnerKeys, of: signer) }
        }
        guard var member = members[identity] else { throw .notMember(identity) }
        guard head.sequence > member.head.sequence else { throw .nothingNew }
        // The identity chain that has the new head must also have the old one.
        _ = try context.keys(of: identity, at: member.head)
        member.head = head
        member.keys = keys
        try set(member)
        note(identity, link, bounds: bounds)
        owed.insert(keys == nil ? .revoked(identity) : .keysRolled(identity))
    }

    private mutating func leave(
        _ signer: Member, _ successor: IdentityID?, _ bounds: LogBounds, _ link: LinkRecord
    ) throws(TrustError) {
        let isLastOwner = signer.role == .owner && owners.count == 1
        if isLastOwner, successor == nil { throw .lastOwner }
        if let successor {
            guard isLastOwner, successor != signer.identity, var heir = members[successor], heir.keys != nil
            else { throw .wrongSuccessor }
            heir.role = .owner
            try set(heir)
            note(successor, link)
        }
        drop(signer.identity)
        left[signer.identity] = signer.role
        note(signer.identity, link, bounds: bounds)
        owed.insert(.left(signer.identity))
    }

    /// Records the standing of an identity from this link on.
    private mutating func note(
        _ identity: IdentityID, _ link: LinkRecord, bounds: LogBounds? = nil, isAcknowledging: Bool = false
    ) {
        let member = members[identity]
        standings[identity, default: []].append(
            Standing(
                sequence: link.sequence, role: member?.keys == nil ? nil : member?.role,
                signing: member?.keys?.signing, bounds: bounds, isAcknowledging: isAcknowledging))
    }
}
