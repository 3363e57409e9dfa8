package import CofferFormat
package import CofferTrust
internal import CofferCrypto
internal import CofferRemote

// Invites, and those who come with them.
extension SyncEngine {
    /// The most requests that are fetched in one round.
    private static let requestCountMax = 64
    /// The most requests of which it is remembered that they were refused.
    private static let refusedCountMax = 1 << 14
    /// How long an invite is kept after its end, so that it can be said why nobody is admitted by it: 30 days.
    private static let expiredInviteTime: Int64 = 30 * 86_400_000_000_000

    /// Makes an invite, and keeps it until it is used.
    ///
    /// - Parameters:
    ///   - role: What the invited become.
    ///   - expires: When it ends, in nanoseconds since 1970.
    ///   - url: Of the remote, without password.
    ///   - name: What the vault is called here; nothing of it is put to the remote.
    /// - Throws: `.membership`: `.refused`, `.noIdentity` without a place to keep invites.
    package func invite(
        role: Role, expires: Int64, url: String, name: String? = nil
    ) async throws(SyncError) -> Invite {
        try await alone { () async throws(SyncError) in
            try await load()
            guard let book = setup.invites else { throw .membership(.noIdentity) }
            guard let root = chain.links.first else { throw .noMembers }
            try checkStanding()
            let permission = Self.permission(toAdd: role)
            guard chain.state.may(ownIdentity, permission) else {
                throw .membership(.refused(.missingRight(permission)))
            }
            let invite = try ruling { () throws(TrustError) in
                try Invite(
                    to: setup.vault, root: root.hash, role: role, expires: expires, url: url, name: name)
            }
            var invites = try await book.load()
            invites.removeExpired(at: time - Self.expiredInviteTime)
            try ruling { () throws(TrustError) in try invites.add(invite) }
            try await book.save(invites)
            return invite
        }
    }

    /// Takes an invite back: nobody is admitted by it any more, and who asks with it is told.
    package func withdraw(_ invite: InviteID) async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            guard let book = setup.invites else { return }
            var invites = try await book.load()
            invites.withdraw(invite)
            try await book.save(invites)
        }
    }

    /// Adds somebody whose card was handed over, and whose fingerprint was compared.
    ///
    /// - Throws: `.membership(.refused)`.
    package func add(_ card: IdentityCard, role: Role) async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            guard let identity = card.identity.identity else { throw .membership(.refused(.wrongPlace)) }
            guard chain.state.members[identity] == nil else {
                throw .membership(.refused(.alreadyMember(identity)))
            }
            let permission = Self.permission(toAdd: role)
            guard chain.state.may(ownIdentity, permission) else {
                throw .membership(.refused(.missingRight(permission)))
            }
            try await publish(card)
            try await addMember(identity, role)
        }
    }

    private static func permission(toAdd role: Role) -> Permission {
        role == .owner || role == .admin ? .addAdmins : .addMembers
    }

    /// Makes a member of somebody whose identity lies beside the vault.
    ///
    /// Who has left is bounded before that: nobody comes back into logs whose end nobody has named.
    func addMember(_ identity: IdentityID, _ role: Role, by invite: InviteID? = nil) async throws(SyncError) {
        if chain.state.left[identity] != nil { try await removeMember(identity, onlyIfLeft: true) }
        try await link { () async throws(SyncError) in
            guard chain.state.members[identity] == nil else { return nil }
            guard let known = identities[identity] else {
                throw .membership(.refused(.identityMissing(identity)))
            }
            guard let key = try await transientKeys(of: [known])[identity] else {
                throw .membership(.noTransientKey(name(of: identity)))
            }
            let keyring = try openedKeyring()
            return try ruling { () throws(TrustError) in
                PendingLink(
                    try chain.adding(
                        try Recipient(known, key), role: role, invite: invite, keyring: keyring,
                        signing: setup.keys.author.key, at: time, knowing: identities))
            }
        }
    }

    // MARK: In each round

    /// Admits those who ask with an invite of this user's.
    ///
    /// - Parameter isDue: Whether to ask the remote even if no invite is open, to name what cannot be admitted.
    func admitInvited(isDue: Bool) async throws(SyncError) {
        guard let book = setup.invites else { return }
        let used = try await book.load().all.map(\.id).filter { chain.hasUsed($0) }
        // Admitted by another device of this user's, or before a crash.
        try await forget(used)
        let invites = try await book.load()
        guard !invites.isEmpty || !used.isEmpty || isDue else { return }
        notes.removeAll { note in
            guard case .membership(.request(let name, _, _)) = note else { return false }
            return duties.refused[name] == nil
        }
        let entries = try await newRequests()
        let fetched = try await fetchAll(entries.map(\.name), byteCountMax: JoinRequestRecord.byteCountMax)
        for entry in entries {
            guard let bytes = fetched[entry.name] else { continue }
            try await answer(bytes, entry, invites)
        }
    }

    /// Requests that nothing was said of yet, as many as are fetched in a round: first those behind the last one that
    /// was fetched, so that what comes again and again does not hide others.
    private func newRequests() async throws(SyncError) -> [RemotePage.Entry] {
        var (behind, before): ([RemotePage.Entry], [RemotePage.Entry]) = ([], [])
        let turn = duties.requestTurn
        // Anybody can put such: very many are fetched again.
        if duties.refused.count >= Self.refusedCountMax { duties.refused = [:] }
        try await list(layout.requests) { entries in
            for entry in entries
            where duties.refused[entry.name.last] != entry.byteCount
                && entry.byteCount != JoinRefusalRecord.byteCount
            {
                if let turn, entry.name <= turn {
                    if before.count < Self.requestCountMax { before.append(entry) }
                } else if behind.count < Self.requestCountMax {
                    behind.append(entry)
                }
            }
            return behind.count < Self.requestCountMax ? .next : .enough
        }
        let new = (behind + before).prefix(Self.requestCountMax)
        duties.requestTurn = new.last?.name
        for entry in new where entry.byteCount > JoinRequestRecord.byteCountMax {
            refuse(entry, nil, .format(.invalid(field: "length")))
        }
        return new.filter { $0.byteCount <= JoinRequestRecord.byteCountMax }
    }

    /// Admits who asks, or says why not.
    ///
    /// A request that was dealt with is deleted; a bad one is left. Who has an invite that admits nobody is told.
    private func answer(
        _ bytes: [UInt8], _ entry: RemotePage.Entry, _ invites: OpenInvites
    ) async throws(SyncError) {
        let admission: OpenInvites.Admission
        do throws(TrustError) { admission = try invites.admission(bytes, at: time) } catch {
            if error == .inviteWithdrawn, let record = try? JoinRequestRecord(bytes) {
                return try await tell(.withdrawn, invites[record.invite], entry)
            }
            return try await refuse(bytes, entry, error)
        }
        guard let identity = admission.card.identity.identity else { return }
        guard !chain.hasUsed(admission.invite) else {
            return try await refuse(bytes, entry, .noSuchInvite)
        }
        do throws(SyncError) {
            guard chain.state.members[identity] == nil else {
                throw .membership(.refused(.alreadyMember(identity)))
            }
            try await publish(admission.card)
            try await addMember(identity, admission.role, by: admission.invite)
        } catch {
            switch error {
            case .membership(.refused(let reason)):
                refuse(entry, admission.card.name, reason)
                if case .missingRight = reason { try await tell(.noRight, invites[admission.invite], entry) }
                return
            case .membership(.identityForked):
                return refuse(entry, admission.card.name, .identityHeadDiffers(identity))
            default: throw error
            }
        }
        try await forget([admission.invite])
        try await reaching { () async throws(RemoteError) in try await remote.delete(entry.name) }
    }

    /// Puts in the place of a request why nobody is admitted by its invite.
    private func tell(
        _ reason: JoinRefusal, _ invite: Invite?, _ entry: RemotePage.Entry
    ) async throws(SyncError) {
        guard let bytes = invite?.refusal(reason) else { return }
        try await reaching { () async throws(RemoteError) in
            try await remote.put(entry.name, .memory(bytes), ifAbsent: false)
        }
        duties.refused[entry.name.last] = JoinRefusalRecord.byteCount
    }

    /// Names what is wrong with a request, unless it is with another member's invite.
    private func refuse(
        _ bytes: [UInt8], _ entry: RemotePage.Entry, _ error: TrustError
    ) async throws(SyncError) {
        guard error == .noSuchInvite else { return refuse(entry, nil, error) }
        duties.refused[entry.name.last] = entry.byteCount
        guard let record = try? JoinRequestRecord(bytes), record.vault == setup.vault,
            chain.hasUsed(record.invite)
        else { return }
        // Who was admitted by it left it behind: a crash came between the link and its end.
        let members = chain.state.members.keys.map { layout.request(JoinRequestName.of($0)) }
        guard !members.contains(entry.name) else {
            return try await reaching { () async throws(RemoteError) in try await remote.delete(entry.name) }
        }
        refuse(entry, nil, .inviteUsed)
    }

    private func refuse(_ entry: RemotePage.Entry, _ name: String?, _ error: TrustError) {
        duties.refused[entry.name.last] = entry.byteCount
        note(.membership(.request(entry.name.last, name: name, error)))
    }

    private func forget(_ used: [InviteID]) async throws(SyncError) {
        guard let book = setup.invites, !used.isEmpty else { return }
        var invites = try await book.load()
        for invite in used { invites.remove(invite) }
        try await book.save(invites)
    }
}

/// Where somebody leaves a request to join: each identity has one place.
enum JoinRequestName {
    /// The first 16 bytes of the identity id.
    static func of(_ identity: IdentityID) -> RequestID {
        guard let id = RequestID(bytes: Array(identity.bytes.prefix(16))) else {
            preconditionFailure("an identity id has 32 bytes")
        }
        return id
    }
}

/// Tells identifiers of requests from others.
enum RequestKind {}
/// Names a request to join.
typealias RequestID = Identifier<RequestKind>
