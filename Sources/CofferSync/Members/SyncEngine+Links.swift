internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Links that this device makes. A link is saved before it is put, and the set of wraps that it names is put
// before the link. So a crash at any point leaves either a complete link, or one that the next round puts or
// makes again.
extension SyncEngine {
    /// The most attempts to add a link while other devices are faster.
    private static let attemptCountMax = 32

    /// Runs code that the rules of the member chain may refuse.
    func ruling<Value>(_ body: () throws(TrustError) -> Value) throws(SyncError) -> Value {
        do throws(TrustError) { return try body() } catch { throw .membership(.refused(error)) }
    }

    /// Makes a link and puts it; if another device was faster, reads its links and makes the link again.
    ///
    /// - Parameter make: Checks, against the links known at that time, what is still to be done; returns nil
    ///   if nothing is.
    func link(_ make: () async throws(SyncError) -> PendingLink?) async throws(SyncError) {
        for attempt in 0..<Self.attemptCountMax {
            if attempt > 0 {
                try await pullMembers()
                try await openKeys()
            }
            guard let pending = try await make() else { return }
            try await setPending(pending)
            if try await put(pending) { return }
        }
        throw .membership(.contended)
    }

    /// Saves a link that is to be put; nil if none is any more.
    func setPending(_ pending: PendingLink?, and rows: [KeptChange] = []) async throws(SyncError) {
        var changed = duties
        try await save(rows + changed.setPending(pending))
        duties = changed
    }

    /// Puts the saved link, and appends it to the chain; returns false if another link has its place.
    private func put(_ pending: PendingLink) async throws(SyncError) -> Bool {
        if let name = wrapsName(pending), let wraps = pending.wraps {
            _ = try await putNew(name, wraps)
        }
        let sequence = chain.nextSequence
        if try await !putNew(layout.member(sequence), pending.link) {
            try await pullMembers()
            guard chain.nextSequence > sequence else { throw .membership(.blocked(link: sequence)) }
        } else {
            do throws(TrustError) { _ = try members.append(pending.link) } catch { throw .trust(error) }
        }
        let isTaken = chain.links[Int(sequence)].bytes == pending.link
        if isTaken {
            try await setPending(nil, and: [KnownMembers.row(sequence, pending.link)])
            if let set = pending.wrapSet { try await keepWraps([set]) }
        } else {
            try await dropPending()
        }
        try await openKeys()
        return isTaken
    }

    /// Puts an object; returns false if the name is taken.
    func putNew(_ name: RemoteName, _ bytes: [UInt8]) async throws(SyncError) -> Bool {
        guard try await objects.putNew(name, bytes) else { return false }
        status.progress.bytesSent += bytes.count
        return true
    }

    func wrapsName(_ pending: PendingLink) -> RemoteName? {
        pending.wrapSet.map { layout.wraps($0.hash, of: $0.record.epoch) }
    }

    /// Forgets a link whose place another one has taken, and deletes its wraps: it can never become valid.
    private func dropPending() async throws(SyncError) {
        guard let pending = duties.pending else { return }
        // The link in its place may name the same set: this device may have made it with older bounds.
        if let name = wrapsName(pending), let set = pending.wrapSet,
            !chain.state.grants.contains(where: { $0.wraps == set.hash })
        {
            try await objects.delete(name)
        }
        try await setPending(nil)
    }

    // MARK: After a crash

    /// Continues with a link that was interrupted by a crash, or by a failure of the remote.
    func resumePending() async throws(SyncError) {
        guard let pending = duties.pending else { return }
        guard let record = try? LinkRecord(pending.link) else { return try await dropPending() }
        if record.sequence < chain.nextSequence, chain.links[Int(record.sequence)].bytes == pending.link {
            if let set = pending.wrapSet { try await keepWraps([set]) }
            return try await setPending(nil)
        }
        if let newer = try await withPresentBounds(record, pending), newer != pending {
            try await setPending(newer)
        }
        if let pending = duties.pending, record.sequence == chain.nextSequence,
            members.problem(of: pending.link) == nil
        {
            if try await put(pending) { return }
        } else {
            try await dropPending()
        }
        try await redo(record)
    }

    /// The link with bounds at the commits applied here by now, so that commits that arrived since it was
    /// made count.
    ///
    /// It begins the same epoch with the same set of wraps: if the older link turns out to be at the remote
    /// after all, nothing is missing.
    ///
    /// - Returns: Nil for a link without bounds, or one that can no longer be made.
    private func withPresentBounds(
        _ record: LinkRecord, _ pending: PendingLink
    ) async throws(SyncError) -> PendingLink? {
        guard record.sequence == chain.nextSequence, let operation = MemberOperation(record),
            let bounded = operation.bounded, bounded.identity != ownIdentity
        else { return nil }
        try await pullAllLogs()
        let bounds = try logs.bounds(of: bounded.identity)
        guard bounds != bounded.bounds, let link = try? link(operation.with(bounds)) else { return nil }
        return PendingLink(link: link, wraps: pending.wraps)
    }

    /// Repeats the change of a link whose place was taken.
    private func redo(_ record: LinkRecord) async throws(SyncError) {
        switch MemberOperation(record) {
        case .removeMember(let identity, _, _):
            // A member that has come back in the meantime is not removed again; one that has left is still
            // bounded.
            let hasComeBack = chain.state.members[identity].map { $0.joined >= record.sequence } ?? false
            try await removeMember(identity, onlyIfLeft: hasComeBack)
        case .changeRole(let identity, let role, _): try await changeRole(of: identity, to: role)
        case .leave(let successor, _): try await leaveVault(successor)
        case .addMember(let identity, _, let role, nil, _):
            // A user that was a member in the meantime, and no longer is, is not brought back.
            guard !chain.hasChanged(identity, since: record.sequence) else { return }
            try await addMember(identity, role)
        case .keepHistory(let seconds):
            // Somebody has decided otherwise in the meantime.
            let later = chain.links.dropFirst(Int(clamping: record.sequence))
            let isOverruled = later.contains {
                if case .keepHistory = MemberOperation($0) { true } else { false }
            }
            if !isOverruled { try await keepHistory(seconds) }
        // A request is still there; a rotation that is due is still due.
        case .addMember, .createVault, .rotateKey, .memberKeysRolled, .restoreFromBackup, nil: break
        }
    }

    // MARK: Steps

    /// Adds an identity that is beside the vault as a member.
    ///
    /// If it has left before, its old commits are bounded first, so that it cannot continue logs without a
    /// bound.
    func addMember(_ identity: IdentityID, _ role: Role, by invite: InviteID? = nil) async throws(SyncError) {
        if chain.state.left[identity] != nil { try await removeMember(identity, onlyIfLeft: true) }
        try await link { () async throws(SyncError) in
            guard chain.state.members[identity] == nil else { return nil }
            guard let known = members.identities[identity] else {
                throw .membership(.refused(.identityMissing(identity)))
            }
            guard let key = try await transientKeys(of: [known])[identity] else {
                throw .membership(.noTransientKey(names.name(of: identity)))
            }
            let keyring = try openedKeyring()
            return try ruling { () throws(TrustError) in
                PendingLink(
                    try chain.adding(
                        try Recipient(known, key), role: role, invite: invite, keyring: keyring,
                        signing: setup.keys.author.key, at: time, knowing: members.identities))
            }
        }
    }

    /// - Parameter onlyIfLeft: Whether to do nothing if the identity is a member: it may have come back in
    ///   the meantime.
    func removeMember(_ identity: IdentityID, onlyIfLeft: Bool = false) async throws(SyncError) {
        try await recordNewKeys(without: identity)
        try await link { () async throws(SyncError) in
            try await pullAllLogs()
            let isMember = chain.state.members[identity] != nil
            guard isMember ? !onlyIfLeft : chain.state.left[identity] != nil else { return nil }
            let recipients = try await recipients(without: identity)
            let (bounds, keyring) = (try logs.bounds(of: identity), try openedKeyring())
            return try ruling { () throws(TrustError) in
                PendingLink(
                    try chain.removing(
                        identity, bounds: bounds, recipients: recipients, keyring: keyring,
                        signing: setup.keys.author.key, at: time, knowing: members.identities))
            }
        }
    }

    /// Whether a member that has left can be bounded without taking back what it wrote before.
    ///
    /// That is so once all commits that it named are applied here, or have not arrived for long enough since
    /// this process first noticed that it had left.
    private func isBoundDue(_ identity: IdentityID) -> Bool {
        let hasWaited = duties.hasWaited(for: identity, at: setup.milliseconds())
        guard let bounds = members.boundsOfLeave(by: identity) else { return true }
        return hasWaited || bounds.bounds.allSatisfy { logs.appliedSequence($0.log) >= $0.sequence }
    }

    /// Bounds the commits of members that have left, as a removal does: the bounds that they stated
    /// themselves could let them continue to write.
    ///
    /// The key is changed at once, even while a bound is not due yet.
    func boundThoseWhoLeft() async throws(SyncError) {
        // Commits applied here from the lost side of a fork must not become bounds.
        guard !logs.hasLostCommits(chain),
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
                bounds = try logs.bounds(of: identity)
            }
            return PendingLink(link: try link(.changeRole(identity, role: role, bounds: bounds)))
        }
    }

    /// - Parameter seconds: As in `MemberOperation.keepHistory`.
    func keepHistory(_ seconds: Int64) async throws(SyncError) {
        try await link { () async throws(SyncError) in
            guard chain.state.historySeconds != seconds else { return nil }
            return PendingLink(link: try link(.keepHistory(seconds: seconds)))
        }
    }

    func leaveVault(_ successor: IdentityID?) async throws(SyncError) {
        let identity = ownIdentity
        do throws(SyncError) {
            try await link { () async throws(SyncError) in
                guard chain.state.members[identity] != nil else { return nil }
                let heir = chain.isLastOwner(identity) ? successor : nil
                let bounds = try logs.bounds(of: identity)
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
                        knowing: members.identities))
            }
        }
    }

    /// Records members' new keys from their identity chains: wraps are made for the newest keys only.
    private func recordNewKeys(without removed: IdentityID?) async throws(SyncError) {
        try await pullListedIdentities()
        for member in chain.state.recipients where member.identity != removed {
            try await recordKeys(of: member.identity)
        }
    }

    /// Records in the member chain the keys that an identity's chain has added, with the commits so far.
    ///
    /// From then on, data signed with older keys does not count.
    func recordKeys(of identity: IdentityID) async throws(SyncError) {
        func isNew() -> Bool {
            guard let member = chain.state.members[identity], let head = members.identities[identity]?.head
            else {
                return false
            }
            return head.sequence > member.head.sequence
        }
        guard isNew() else { return }
        try await pullAllLogs()
        try await link { () async throws(SyncError) in
            guard isNew(), let head = members.identities[identity]?.head else { return nil }
            let operation = MemberOperation.memberKeysRolled(
                identity, head: head, bounds: try logs.bounds(of: identity))
            return PendingLink(link: try link(operation))
        }
    }

    /// A link without wraps, not yet appended to the chain.
    func link(_ operation: MemberOperation) throws(SyncError) -> [UInt8] {
        try ruling { () throws(TrustError) in
            try chain.link(operation, at: time, by: setup.keys.author.key, knowing: members.identities)
        }
    }

    // MARK: Members to wrap keys for

    /// The members that get wraps of the next epoch's key, with their newest transient keys.
    ///
    /// A member without a transient key signed by its current identity key is left out, so that nobody can
    /// block a change of the key by having none. It gets a wrap in a later epoch (`wrapForThoseWithout`).
    ///
    /// - Throws: `.membership(.noTransientKey)` if this user has none.
    func recipients(without removed: IdentityID?) async throws(SyncError) -> [Recipient] {
        var chains: [IdentityChain] = []
        for member in chain.state.recipients where member.identity != removed {
            guard let identity = members.identities[member.identity] else {
                throw .membership(.refused(.identityMissing(member.identity)))
            }
            chains.append(identity)
        }
        let keys = try await transientKeys(of: chains)
        var recipients: [Recipient] = []
        for identity in chains {
            guard let id = identity.identity, let key = keys[id] else {
                guard identity.identity != ownIdentity else {
                    throw .membership(.noTransientKey(names.name(of: ownIdentity)))
                }
                continue
            }
            recipients.append(try ruling { () throws(TrustError) in try Recipient(identity, key) })
        }
        return recipients
    }

    /// Begins an epoch for members that had no transient key when the current one began, once they have one.
    ///
    /// The other members' transient keys are fetched and kept as well, so that deleting them later leaves
    /// nobody out. A set of wraps that is merely missing at the storage is no reason: this device must have a
    /// set that has no wrap for the member.
    func wrapForThoseWithout() async throws(SyncError) {
        let chains = chain.state.recipients.compactMap { members.identities[$0.identity] }
        let keys = try await transientKeys(of: chains)
        func isNeeded() -> Bool {
            chain.state.recipients.contains { member in
                guard keys[member.identity] != nil,
                    let set = chain.wraps(for: member.identity).flatMap({ duties.keptWraps[$0] })
                else { return false }
                return set[member.identity] == nil
            }
        }
        if isNeeded() { try await rotateKey(while: isNeeded) }
    }

    /// The transient keys to wrap with: for each identity the newest one ever seen.
    ///
    /// So the storage can neither bring back an older key, nor block a change of the key by deleting keys.
    func transientKeys(of chains: [IdentityChain]) async throws(SyncError) -> [IdentityID: TransientKey] {
        let names = chains.map { layout.transientKey($0.id) }
        let fetched = try await objects.fetchAll(names, byteCountMax: TransientKeyRecord.byteCount)
        let own = await setup.card()
        var keys: [IdentityID: TransientKey] = [:]
        var (kept, rows): (MemberDuties, [KeptChange]) = (duties, [])
        for chain in chains {
            guard let identity = chain.identity else { continue }
            let user = UserID(low: chain.id.low, high: chain.id.high)
            let card = kept.cards[user]
            var candidates = [card?.transient, fetched[layout.transientKey(chain.id)]].compactMap { bytes in
                bytes.flatMap { try? TransientKey($0, of: chain) }
            }
            if identity == ownIdentity, let own { candidates.append(own.transient) }
            guard let key = TransientKey.choice(from: candidates, at: time) else { continue }
            keys[identity] = key
            if key.record.bytes != card?.transient {
                rows.append(kept.keep(KeptCard(transient: key.record.bytes, name: card?.name), of: user))
            }
        }
        try await save(rows)
        duties = kept
        return keys
    }
}

extension MemberOperation {
    /// The identity whose commits it bounds, and the bounds; nil if it bounds none.
    fileprivate var bounded: (identity: IdentityID, bounds: LogBounds)? {
        switch self {
        case .removeMember(let identity, _, let bounds), .memberKeysRolled(let identity, _, let bounds):
            (identity, bounds)
        // Only a member that loses the right to write needs bounds.
        case .changeRole(let identity, .reader, let bounds): (identity, bounds)
        default: nil
        }
    }

    /// The same operation with other bounds.
    fileprivate func with(_ bounds: LogBounds) -> MemberOperation {
        switch self {
        case .removeMember(let identity, let start, _): .removeMember(identity, start: start, bounds: bounds)
        case .memberKeysRolled(let identity, let head, _):
            .memberKeysRolled(identity, head: head, bounds: bounds)
        case .changeRole(let identity, let role, _): .changeRole(identity, role: role, bounds: bounds)
        default: self
        }
    }
}
