package import CofferFormat
package import CofferTrust
internal import CofferCrypto
internal import CofferRemote

// Invites, and requests to join by them.
extension SyncEngine {
    /// The most requests that are fetched in one round.
    private static let requestCountMax = 64
    /// The most refused requests that are remembered.
    private static let refusedCountMax = 1 << 14
    /// How long an expired invite is kept, so that a refusal can state the reason: 30 days, in nanoseconds.
    private static let expiredInviteTime: Int64 = 30 * 86_400_000_000_000

    /// Makes an invite, and keeps it until it is used.
    ///
    /// - Parameters:
    ///   - role: The role that the invited user gets.
    ///   - expires: When the invite expires, in nanoseconds since 1970.
    ///   - url: The remote's, without a password.
    ///   - name: The vault's name on this device; it is not put to the remote.
    /// - Throws: `.membership`: `.refused`; `.noIdentity` if there is no place to keep invites.
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

    /// Withdraws an invite: it admits nobody any more, and a user that asks with it is told so.
    package func withdraw(_ invite: InviteID) async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            guard let book = setup.invites else { return }
            var invites = try await book.load()
            invites.withdraw(invite)
            try await book.save(invites)
        }
    }

    /// Adds a user whose card was handed over, and whose fingerprint was compared.
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

    /// Adds an identity that is beside the vault as a member.
    ///
    /// If it has left before, its old commits are bounded first, so that it cannot continue logs without a
    /// bound.
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

    /// Admits users that ask with an invite of this user.
    ///
    /// - Parameter isDue: Whether to list the requests even if no invite is open, to name those that are
    ///   refused.
    func admitInvited(isDue: Bool) async throws(SyncError) {
        guard let book = setup.invites else { return }
        let used = try await book.load().all.map(\.id).filter { chain.hasUsed($0) }
        // These were admitted by another device of this user, or before a crash.
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

    /// Requests that were not answered yet, as many as are fetched in a round.
    ///
    /// Starts after the last request fetched, so that requests that keep coming do not hide others.
    private func newRequests() async throws(SyncError) -> [RemotePage.Entry] {
        var (behind, before): ([RemotePage.Entry], [RemotePage.Entry]) = ([], [])
        let turn = duties.requestTurn
        // Anybody can put requests, so the memory of refusals is bounded; once it is full, they are fetched
        // again.
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

    /// Admits the user that asks, or refuses the request.
    ///
    /// A request that has been granted is deleted; a bad one stays. A user whose invite admits nobody is told
    /// why.
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

    /// Replaces a request by the reason why its invite admits nobody.
    private func tell(
        _ reason: JoinRefusal, _ invite: Invite?, _ entry: RemotePage.Entry
    ) async throws(SyncError) {
        guard let bytes = invite?.refusal(reason) else { return }
        try await reaching { () async throws(RemoteError) in
            try await remote.put(entry.name, .memory(bytes), ifAbsent: false)
        }
        duties.refused[entry.name.last] = JoinRefusalRecord.byteCount
    }

    /// Names what is wrong with a request, unless it uses another member's invite.
    private func refuse(
        _ bytes: [UInt8], _ entry: RemotePage.Entry, _ error: TrustError
    ) async throws(SyncError) {
        guard error == .noSuchInvite else { return refuse(entry, nil, error) }
        duties.refused[entry.name.last] = entry.byteCount
        guard let record = try? JoinRequestRecord(bytes), record.vault == setup.vault,
            chain.hasUsed(record.invite)
        else { return }
        // A crash between the link and the deletion has left the request of a user that was admitted.
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

/// The name of a request to join: each identity has one.
enum JoinRequestName {
    /// The first 16 bytes of the identity id.
    static func of(_ identity: IdentityID) -> RequestID {
        guard let id = RequestID(bytes: Array(identity.bytes.prefix(16))) else {
            preconditionFailure("an identity id has 32 bytes")
        }
        return id
    }
}

/// Distinguishes identifiers of requests from others.
enum RequestKind {}
/// The name of a request to join.
typealias RequestID = Identifier<RequestKind>
