internal import CofferFUSE
internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

// Commands on the members of a vault.
extension SharedVault {
    /// Runs a call of the engine, blocks until it ends, and wraps its error in `.sync`.
    func asking<Value: Sendable>(
        _ body: @escaping @Sendable (SyncEngine) async throws(SyncError) -> Value
    ) throws(ClientError) -> Value {
        let engine = engine
        do throws(SyncError) {
            return try AwaitedTask { () async throws(SyncError) in try await body(engine) }.wait()
        } catch {
            throw failure(error)
        }
    }

    /// Like `asking`, for a call that changes the members: if the remote fails, the user is told that nothing
    /// has changed, unless the change waits.
    func changing<Value: Sendable>(
        _ body: @escaping @Sendable (SyncEngine) async throws(SyncError) -> Value
    ) throws(ClientError) -> Value {
        do throws(ClientError) { return try asking(body) } catch {
            guard case .remoteSetting(.notSynced(let vault, let url, let cause)) = error else { throw error }
            throw .remoteSetting(.membersNotChanged(vault: vault, url: url, cause))
        }
    }

    private func roster() throws(ClientError) -> Roster {
        let verified = profile.verified
        return try asking { engine async throws(SyncError) in try await engine.roster(verified: verified) }
    }

    /// Finds a member by name or by the beginning of the identity's id.
    ///
    /// - Throws: `.noSuchMember`, `.ambiguousMember`.
    func member(_ text: String) throws(ClientError) -> (identity: IdentityID, name: String) {
        let members = try roster().members
        let names = members.map { profile.verifiedName(of: $0.identity) ?? $0.name }
        switch MemberChoice(text, among: zip(members, names).map { ($0.identity, $1) }) {
        case .none: throw .member(.noSuchMember(name: text, vault: name))
        case .several: throw .member(.ambiguousMember(name: text, vault: name))
        case .one(let index):
            return (members[index].identity, Self.name(of: members[index].identity, names[index]))
        }
    }

    /// The texts by which commands can name the other members; does not wait for a round to end.
    ///
    /// A member without a name, or with that of another, is named by the beginning of the identity.
    func memberNames() -> [String] {
        let members = AwaitedTask { [engine] in await engine.otherMembers() }.wait()
        let names = members.map { (identity: $0.key, name: profile.verifiedName(of: $0.key) ?? $0.value) }
        return names.map { member in
            guard let name = member.name,
                names.count(where: { $0.name?.hasSameBytes(as: name) == true }) == 1
            else { return String(member.identity.description.prefix(16)) }
            return name
        }.sorted()
    }

    /// The name that a member claims; nil if none.
    func claimedName(of identity: IdentityID) throws(ClientError) -> String? {
        try roster().members.first { $0.identity == identity }?.name
    }

    /// The name to show for an identity, which may not be a member.
    private static func name(of identity: IdentityID, in members: [Roster.Member]) -> String {
        name(of: identity, members.first { $0.identity == identity }?.name)
    }

    /// The name to show for an identity whose name may be unknown.
    static func name(of identity: IdentityID, _ name: String?) -> String {
        name ?? "unknown \(identity.description.prefix(8))"
    }

    /// Reports all members and open invites.
    func membersReport() throws(ClientError) -> MembersReport {
        let roster = try roster()
        let change = try asking { engine async throws(SyncError) in try await engine.pendingChange() }
        return MembersReport(
            members: roster.members.map { member in
                let keys = Self.standing(member.keys)
                let name = shownName(of: member.identity, member.name)
                return MembersReport.Member(
                    name: name, claims: member.name.flatMap { $0.hasSameBytes(as: name) ? nil : $0 },
                    role: "\(member.role)", identity: member.identity.description,
                    fingerprint: member.fingerprint.description, isVerified: member.isVerified,
                    keys: keys.text, keysUntil: keys.until,
                    since: member.joined / Self.second,
                    addedBy: member.addedBy.flatMap {
                        $0 == member.identity ? nil : Self.name(of: $0, in: roster.members)
                    },
                    isThis: member.isSelf)
            },
            invites: roster.pending.map {
                MembersReport.OpenInvite(
                    id: $0.invite.description, role: "\($0.role)", expires: $0.expires / Self.second)
            },
            rotationOwed: Self.text(roster.owed),
            waiting: change.map { Self.waiting($0.text, $0.argument, in: name) })
    }

    /// The state of a member's keys in one word, and the time in seconds until which they are or were valid.
    private static func standing(_ keys: Roster.KeyStanding) -> (text: String, until: Int64?) {
        switch keys {
        case .valid(let time): ("valid", time / second)
        case .expired(let time): ("expired", time / second)
        case .unseen: ("unseen", nil)
        case .rolled: ("rolled", nil)
        case .revoked: ("revoked", nil)
        }
    }

    private static let second: Int64 = 1_000_000_000

    /// The reasons for an owed rotation as text; nil without any.
    static func text(_ owed: Set<MemberLedger.RotationReason>) -> String? {
        if owed.isEmpty { return nil }
        let reasons = owed.map { reason in
            switch reason {
            case .left: "a member has left"
            case .revoked: "a member's identity is revoked"
            case .keysRolled: "a member has new identity keys"
            }
        }
        return Set(reasons).sorted().joined(separator: ", ")
    }

    // MARK: Inviting

    /// Makes an invite, and returns its text.
    func invite(_ role: Role, seconds: Int64) throws(ClientError) -> String {
        let (expires, url, name) = (Clock.realTime + seconds * Self.second, share.url, name)
        return try asking { engine async throws(SyncError) in
            try await engine.invite(role: role, expires: expires, url: url, name: name)
        }.text
    }

    /// Withdraws the open invite whose id begins with the text.
    ///
    /// - Throws: `.noSuchInvite`, `.ambiguousInvite`.
    func withdrawInvite(_ text: String) throws(ClientError) {
        let found = try roster().pending.filter {
            !text.isEmpty && $0.invite.description.hasPrefix(text.lowercased())
        }
        guard let invite = found.first?.invite else { throw .member(.noSuchInvite(id: text, vault: name)) }
        if found.count > 1 { throw .member(.ambiguousInvite(id: text, vault: name)) }
        try asking { engine async throws(SyncError) in try await engine.withdraw(invite) }
    }

    /// Adds the person of an identity card as a member.
    ///
    /// - Returns: An invite by which that person finds the vault; it admits no one else.
    func add(card text: String, as role: Role) throws(ClientError) -> String {
        let card: IdentityCard
        do throws(TrustError) { card = try IdentityCard(text: text) } catch { throw .trust(error) }
        let (vault, url, expires) = (share.vault, share.url, Clock.realTime + 365 * 86_400 * Self.second)
        let root = try changing { engine async throws(SyncError) in
            try await engine.add(card, role: role)
            return await engine.chain.links.first?.hash
        }
        guard let root else { throw .trust(.wrongPlace) }
        do throws(TrustError) {
            return try Invite(to: vault, root: root, role: role, expires: expires, url: url, name: name).text
        } catch {
            throw .trust(error)
        }
    }

    // MARK: Changing

    func setRole(of member: String, to role: Role) throws(ClientError) {
        let identity = try self.member(member).identity
        try changing { engine async throws(SyncError) in try await engine.setRole(of: identity, to: role) }
    }

    func remove(_ member: String) throws(ClientError) {
        let identity = try self.member(member).identity
        try changing { engine async throws(SyncError) in try await engine.remove(identity) }
    }

    /// Cancels a change of members that waits for the remote.
    ///
    /// - Parameter member: The member that the change concerns, by name or by the beginning of the identity's
    ///   id.
    func cancelChange(of member: String) throws(ClientError) {
        let pending = try asking { engine async throws(SyncError) in try await engine.pendingChange() }
        let concerned = pending.flatMap { change in change.identity.map { ($0, change.name) } }
        if let concerned,
            case .none = MemberChoice(member, among: [(identity: concerned.0, name: concerned.1)])
        {
            throw .member(.noSuchMember(name: member, vault: name))
        }
        try asking { engine async throws(SyncError) in try await engine.cancelPendingChange() }
    }

    func leave(successor: String?) throws(ClientError) {
        var identity: IdentityID?
        if let successor { identity = try member(successor).identity }
        let chosen = identity
        try changing { engine async throws(SyncError) in try await engine.leave(successor: chosen) }
    }

    /// Reports what removed members can still read.
    func removalReports() throws(ClientError) -> [RemovalReport] {
        let vault = mounted.vault
        let receipts = try asking { engine async throws(SyncError) in
            try await engine.removalReceipts { Self.usage(of: vault) }
        }
        let members = try roster().members
        let devices = AwaitedTask { [engine] in await engine.status.devices }.wait()
        func revisions(_ bounds: [LogBound]) -> [RemovalReport.Revision] {
            bounds.map { bound in
                let device = devices.first { $0.author.log == bound.log }
                return RemovalReport.Revision(
                    device: device?.author.description ?? "log \(bound.log)", commit: bound.sequence)
            }
        }
        return receipts.map { receipt in
            RemovalReport(
                name: receipt.name ?? Self.name(of: receipt.identity, in: members),
                identity: receipt.identity.description,
                removedBy: Self.name(of: receipt.remover, in: members), time: receipt.time / Self.second,
                lastEpoch: receipt.endedEpoch.number, readable: revisions(receipt.readable),
                accepted: revisions(receipt.bounds.bounds), newBytes: Int64(clamping: receipt.newByteCount),
                oldBytes: Int64(clamping: receipt.oldByteCount))
        }
    }

    private static func usage(of vault: Vault) -> [Epoch: UInt64] {
        guard let usage = try? vault.repacking.epochUsage() else { return [:] }
        return usage.mapValues { UInt64(max($0, 0)) }
    }
}

/// The result of finding a member by a text.
enum MemberChoice: Equatable {
    case none, several
    case one(Int)

    /// The fewest digits that can name an identity.
    private static let digitCountMin = 4

    /// Finds a member by a text.
    ///
    /// Members choose their own names. A member who takes another's name, or the beginning of another's id,
    /// makes the text ambiguous. A complete id is never ambiguous.
    ///
    /// - Parameter text: A name, or the beginning of an identity's id.
    init(_ text: String, among members: [(identity: IdentityID, name: String?)]) {
        let digits = text.lowercased()
        let isLong = digits.utf8.count >= Self.digitCountMin
        if let whole = members.firstIndex(where: { $0.identity.description.hasSameBytes(as: digits) }) {
            self = .one(whole)
            return
        }
        let found = members.indices.filter { index in
            members[index].name?.hasSameBytes(as: text) == true
                || isLong && members[index].identity.description.hasPrefix(digits)
        }
        guard let first = found.first else {
            self = .none
            return
        }
        self = found.count == 1 ? .one(first) : .several
    }
}
