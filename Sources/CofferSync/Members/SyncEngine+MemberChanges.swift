package import CofferFormat
package import CofferTrust
internal import CofferCrypto
internal import CofferRemote

// Changes of the members that a user asks for, and users that ask to be admitted.
extension SyncEngine {
    /// How long an expired invite is kept, so that a refusal can state the reason: 30 days, in nanoseconds.
    private static let expiredInviteTime: Int64 = 30 * 86_400_000_000_000

    /// Runs a change that the user asked for, after fetching all links.
    private func changingMembers<Value: Sendable>(
        _ body: () async throws(SyncError) -> Value
    ) async throws(SyncError) -> Value {
        let value = try await alone { () async throws(SyncError) in
            try await load()
            let before = duties.pending
            do throws(SyncError) {
                publish(.members)
                try await pullMembers()
                try await openKeys()
                try await resumePending()
                return try await body()
            } catch {
                // The next round continues with the link, so the caller must be told.
                guard let pending = duties.pending, pending != before, case .remote = error else {
                    throw error
                }
                let change = PendingChange(pending, by: ownIdentity, names)
                throw .membership(
                    .postponed(change.text, member: change.argument, because: "\(error)"))
            }
        }
        // Whatever has changed, there may be something to send or to report.
        wakes.wake(.all)
        return value
    }

    // MARK: Sharing

    /// Publishes the vault: the format marker, this user's identity, and link 0 with the wrap of the vault's
    /// key.
    ///
    /// Does nothing if this was done before, and continues if it was interrupted. The next round sends the
    /// vault's contents.
    ///
    /// - Parameter key: The vault's current key, which becomes the key of epoch 1.
    /// - Throws: `.membership`: `.noIdentity`, `.taken`, `.identityForked`.
    package func share(_ key: EpochKey) async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            try await load()
            publish(.members)
            guard let card = await setup.card(), card.identity.identity == ownIdentity else {
                throw .membership(.noIdentity)
            }
            _ = try await putNew(layout.format, RemoteFormat(vault: setup.vault).bytes)
            try await publish(card)
            if chain.nextSequence == 0 { try await checkFirstLink(key) }
            try await pullFirstMembers()
            if chain.nextSequence == 0 { try await resumePending() }
            try await link { () async throws(SyncError) in
                guard chain.nextSequence == 0 else { return nil }
                return try ruling { () throws(TrustError) in
                    PendingLink(
                        try chain.creating(
                            key, by: try card.recipient, signing: setup.keys.author.key, at: time,
                            knowing: members.identities))
                }
            }
            guard chain.state.beginnings.first?.commitment == key.commitment else {
                throw .membership(.taken)
            }
            rounds.hasShared = true
        }
        wakes.wake(.all)
    }

    /// Checks that a first link at the remote is by this user, for this key, before anything of it is
    /// accepted.
    private func checkFirstLink(_ key: EpochKey) async throws(SyncError) {
        guard let bytes = try await objects.link(layout.member(0)) else { return }
        guard let record = try? LinkRecord(bytes) else { throw .membership(.blocked(link: 0)) }
        guard case .createVault(ownIdentity, _, key.commitment, _) = MemberOperation(record) else {
            throw .membership(.taken)
        }
    }

    /// Fetches the links that the remote has, if any.
    private func pullFirstMembers() async throws(SyncError) {
        do throws(SyncError) { try await pullMembers() } catch {
            guard error == .noMembers else { throw error }
        }
    }

    // MARK: Roles, removals, keys

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

    /// Has all devices keep the past for a time.
    ///
    /// Makes no link if that is said already, or if nothing is and this user may not say it: then it is this device's own
    /// affair.
    ///
    /// - Parameter seconds: As in `MemberOperation.keepHistory`.
    /// - Throws: `.membership(.refused)`.
    package func keepHistory(seconds: Int64) async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            let (present, isAllowed) = (chain.state.historySeconds, chain.state.may(ownIdentity, .setHistory))
            if present == seconds || present == nil && !isAllowed { return }
            guard isAllowed else {
                throw .membership(.refused(.missingRight(.setHistory)))
            }
            try await keepHistory(seconds)
        }
    }

    /// Begins the next epoch of the vault's key, whether that is owed or not.
    package func rotate() async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            let epoch = chain.state.epoch
            try await rotateKey { chain.state.epoch == epoch }
        }
    }

    /// Resolves a fork of the member chain as the user decides, where no rule applies.
    ///
    /// - Parameter adopting: Whether the other link replaces the known one. Changes made by the lost links
    ///   have to be made again.
    package func resolveFork(at sequence: UInt64, adopting: Bool) async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            guard let fork = duties.forks.first(where: { $0.sequence == sequence }) else {
                throw .membership(.refused(.nothingNew))
            }
            if adopting { return try await adopt(fork) }
            duties.decided(fork)
            findings.resolve { if case .membership(.fork(fork, _)) = $0 { true } else { false } }
        }
    }

    /// Cancels the change of the members that waits for the remote.
    ///
    /// Deletes nothing at the remote: a put that failed may have succeeded after all, or may yet do so. The
    /// set of wraps that it put stays, and is reported if no link names it.
    ///
    /// - Throws: `.membership`: `.nothingPending`; `.tookPlace` if the remote has it already.
    package func cancelPendingChange() async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            try await load()
            guard let pending = duties.pending else { throw .membership(.nothingPending) }
            publish(.members)
            // The remote may have accepted a put that it reported as failed.
            do throws(SyncError) { try await pullMembers() } catch {
                guard case .remote = error else { throw error }
                try await reload()
            }
            // An earlier version of the link, with other bounds, names the same set of wraps.
            let set = pending.wrapSet
            let tookPlace =
                chain.links.contains { $0.bytes == pending.link }
                || chain.state.grants.contains { $0.wraps == set?.hash }
            if let set { try await keepWraps([set]) }
            try await setPending(nil)
            guard !tookPlace else { throw .membership(.tookPlace) }
        }
        wakes.wake(.all)
    }

    // MARK: Invites

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

    // MARK: Requests to join

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
        let requests = duties.requests
        findings.resolve { finding in
            switch finding {
            case .membership(.request(let name, _, _)), .membership(.requestStays(let name, _)):
                !requests.isRefused(name)
            default: false
            }
        }
        let entries = try await newRequests()
        let fetched = try await objects.fetchAll(
            entries.map(\.name), byteCountMax: JoinRequestRecord.byteCountMax)
        for entry in entries {
            guard let bytes = fetched[entry.name] else { continue }
            try await answer(bytes, entry, invites)
        }
    }

    /// Requests that were not answered yet, as many as are fetched in a round.
    private func newRequests() async throws(SyncError) -> [RemotePage.Entry] {
        var requests = duties.requests
        requests.beginListing()
        try await objects.list(layout.requests) { requests.add($0) }
        let new = requests.endListing()
        duties.requests = requests
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
        // The new member's device deletes it, too.
        _ = try await allowing { () async throws(SyncError) in try await objects.delete(entry.name) }
    }

    /// Deletes or replaces a request that has been answered, and goes on if the remote does not allow that.
    ///
    /// In a folder with the sticky bit, users cannot remove what others have put.
    ///
    /// - Returns: Why the request stays; nil if it does not.
    private func allowing(
        _ body: () async throws(SyncError) -> Void
    ) async throws(SyncError) -> String? {
        do throws(SyncError) { try await body() } catch {
            switch error {
            case .remote(.refused(let reason), _): return reason
            case .remote(.readOnly, _): return "\(RemoteError.readOnly)"
            default: throw error
            }
        }
        return nil
    }

    /// Reports that a request stays at the remote, if it does.
    private func note(_ reason: String?, _ entry: RemotePage.Entry) {
        if let reason { findings.report(.membership(.requestStays(entry.name.last, reason))) }
    }

    /// Replaces a request by the reason why its invite admits nobody.
    private func tell(
        _ reason: JoinRefusal, _ invite: Invite?, _ entry: RemotePage.Entry
    ) async throws(SyncError) {
        guard let bytes = invite?.refusal(reason) else { return }
        let reason = try await allowing { () async throws(SyncError) in
            try await objects.put(entry.name, bytes)
        }
        let byteCount = reason == nil ? JoinRefusalRecord.byteCount : entry.byteCount
        duties.requests.refuse(entry.name, byteCount: byteCount)
        note(reason, entry)
    }

    /// Names what is wrong with a request, unless it uses another member's invite.
    private func refuse(
        _ bytes: [UInt8], _ entry: RemotePage.Entry, _ error: TrustError
    ) async throws(SyncError) {
        guard error == .noSuchInvite else { return refuse(entry, nil, error) }
        duties.requests.refuse(entry.name, byteCount: entry.byteCount)
        guard let record = try? JoinRequestRecord(bytes), record.vault == setup.vault,
            let user = chain.user(of: record.invite)
        else { return }
        // A crash between the link and the deletion has left the request of a user that was admitted, and may have left
        // the vault since.
        let known = Set(chain.state.members.keys).union([user]).map { layout.request(JoinRequestName.of($0)) }
        guard !known.contains(entry.name) else {
            let reason = try await allowing { () async throws(SyncError) in
                try await objects.delete(entry.name)
            }
            return note(reason, entry)
        }
        refuse(entry, nil, .inviteUsed)
    }

    private func refuse(_ entry: RemotePage.Entry, _ name: String?, _ error: TrustError) {
        duties.requests.refuse(entry.name, byteCount: entry.byteCount)
        findings.report(.membership(.request(entry.name.last, name: name, error)))
    }

    private func forget(_ used: [InviteID]) async throws(SyncError) {
        guard let book = setup.invites, !used.isEmpty else { return }
        var invites = try await book.load()
        for invite in used { invites.remove(invite) }
        try await book.save(invites)
    }
}
