package import CofferFormat
internal import CofferCrypto
internal import CofferTrust

// Roles, removals, leaving, and the epochs that begin with them.
extension SyncEngine {
    /// Gives a member another role.
    ///
    /// If the member loses the right to write, its commits count up to those applied here after a fresh pull.
    ///
    /// - Throws: `.membership(.refused)`.
    package func setRole(of identity: IdentityID, to role: Role) async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            guard let member = chain.state.members[identity] else {
                throw .membership(.refused(.notMember(identity)))
            }
            guard member.role != role else { throw .membership(.refused(.nothingNew)) }
            try await changeRole(of: identity, to: role)
        }
    }

    /// Removes a member, and begins an epoch whose key it does not get, in one link.
    ///
    /// Its commits count up to those applied here after a fresh pull; the link names the last one of each of
    /// its logs.
    ///
    /// - Throws: `.membership`: `.refused`, `.noTransientKey`, …
    package func remove(_ identity: IdentityID) async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            guard chain.state.members[identity] != nil else {
                throw .membership(.refused(.notMember(identity)))
            }
            try await removeMember(identity)
        }
    }

    /// Ends this user's membership, once all changes made here are sent.
    ///
    /// An owner's or admin's device begins the next epoch.
    ///
    /// - Parameter successor: The next owner if the last one leaves; otherwise left out of the link.
    /// - Throws: `.membership(.refused(.lastOwner))` if a successor is needed.
    package func leave(successor: IdentityID? = nil) async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            try await pullAllLogs()
            do throws(SyncError) { try await push() } catch {
                switch error {
                // Changes that cannot be sent any more do not keep the user from leaving.
                case .ownLogEnded, .ownLogForked: break
                default: throw error
                }
            }
            try await leaveVault(successor)
        }
    }

    /// Begins the next epoch of the vault's key, whether that is owed or not.
    package func rotate() async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            let epoch = chain.state.epoch
            try await rotateKey { chain.state.epoch == epoch }
        }
    }

    // MARK: Steps

    /// - Parameter onlyIfLeft: Whether to do nothing if the identity is a member: it may have come back in
    ///   the meantime.
    func removeMember(_ identity: IdentityID, onlyIfLeft: Bool = false) async throws(SyncError) {
        try await recordNewKeys(without: identity)
        try await link { () async throws(SyncError) in
            try await pullAllLogs()
            let isMember = chain.state.members[identity] != nil
            guard isMember ? !onlyIfLeft : chain.state.left[identity] != nil else { return nil }
            let recipients = try await recipients(without: identity)
            let (bounds, keyring) = (try bounds(of: identity), try openedKeyring())
            return try ruling { () throws(TrustError) in
                PendingLink(
                    try chain.removing(
                        identity, bounds: bounds, recipients: recipients, keyring: keyring,
                        signing: setup.keys.author.key, at: time, knowing: identities))
            }
        }
    }

    /// How long this device waits for the commits named by a member that has left, in milliseconds: an hour.
    private static let leftGrace: UInt64 = 3_600_000

    /// Whether a member that has left can be bounded without taking back what it wrote before.
    ///
    /// That is so once all commits that it named are applied here, or have not arrived for long enough since
    /// this process first noticed that it had left.
    private func isBoundDue(_ identity: IdentityID) -> Bool {
        let now = setup.milliseconds()
        let since = duties.leftSince[identity] ?? now
        duties.leftSince[identity] = min(since, now)
        for link in chain.links.reversed() where chain.signer(ofLink: link.sequence) == identity {
            guard case .leave(_, let bounds)? = MemberOperation(ofLink: link.bytes) else { continue }
            let isApplied = bounds.bounds.allSatisfy { (logs[$0.log]?.head.sequence ?? 0) >= $0.sequence }
            return isApplied || now - min(since, now) >= Self.leftGrace
        }
        return true
    }

    /// Bounds the commits of members that have left, as a removal does: the bounds that they stated
    /// themselves could let them continue to write.
    ///
    /// The key is changed at once, even while a bound is not due yet.
    func boundThoseWhoLeft() async throws(SyncError) {
        // Commits applied here from the lost side of a fork must not become bounds.
        guard !hasLostCommits,
            chain.state.left.keys.contains(where: { chain.state.may(ownIdentity, remove: $0) })
        else { return }
        do throws(SyncError) { try await pullAllLogs() } catch {
            guard case .remote = error else { throw error }
            return try await reload()
        }
        for identity in chain.state.left.keys.sorted() where chain.state.may(ownIdentity, remove: identity) {
            guard isBoundDue(identity) else { continue }
            do throws(SyncError) { try await removeMember(identity, onlyIfLeft: true) } catch {
                // The round continues as far as it can, and reports the remote's failure itself.
                guard case .remote = error else { throw error }
                return try await reload()
            }
        }
    }

    func changeRole(of identity: IdentityID, to role: Role) async throws(SyncError) {
        try await link { () async throws(SyncError) in
            guard let member = chain.state.members[identity], member.role != role else { return nil }
            var bounds = LogBounds.none
            if member.role.may(.write), !role.may(.write) {
                try await pullAllLogs()
                bounds = try self.bounds(of: identity)
            }
            return PendingLink(link: try link(.changeRole(identity, role: role, bounds: bounds)))
        }
    }

    func leaveVault(_ successor: IdentityID?) async throws(SyncError) {
        let identity = ownIdentity
        do throws(SyncError) {
            try await link { () async throws(SyncError) in
                guard chain.state.members[identity] != nil else { return nil }
                let heir = chain.isLastOwner(identity) ? successor : nil
                let bounds = try bounds(of: identity)
                return PendingLink(link: try link(.leave(successor: heir, bounds: bounds)))
            }
        } catch {
            // The user has left, as intended.
            guard error == .membership(.left) else { throw error }
        }
    }

    func rotateKey(while isNeeded: () -> Bool) async throws(SyncError) {
        try await recordNewKeys(without: nil)
        try await link { () async throws(SyncError) in
            guard isNeeded() else { return nil }
            let recipients = try await recipients(without: nil)
            let keyring = try openedKeyring()
            return try ruling { () throws(TrustError) in
                PendingLink(
                    try chain.rotating(
                        recipients: recipients, keyring: keyring, signing: setup.keys.author.key, at: time,
                        knowing: identities))
            }
        }
    }

    func openedKeyring() throws(SyncError) -> Keyring {
        guard let keyring else { throw .keys(.noWrap) }
        return keyring
    }

    /// Records members' new keys from their identity chains: wraps are made for the newest keys only.
    private func recordNewKeys(without removed: IdentityID?) async throws(SyncError) {
        try await pullListedIdentities()
        for member in chain.state.recipients where member.identity != removed {
            try await recordKeys(of: member.identity)
        }
    }
}
