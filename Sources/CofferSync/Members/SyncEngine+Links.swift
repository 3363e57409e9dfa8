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

    /// The time by this device's clock, in nanoseconds since 1970.
    var time: Int64 { nanoseconds(milliseconds: setup.milliseconds()) }

    /// This user.
    var ownIdentity: IdentityID { setup.keys.author.identity }

    /// Runs code that the rules of the member chain may refuse.
    func ruling<Value>(_ body: () throws(TrustError) -> Value) throws(SyncError) -> Value {
        do throws(TrustError) { return try body() } catch { throw .membership(.refused(error)) }
    }

    /// Runs a change that the user asked for, after fetching all links.
    func changingMembers<Value: Sendable>(
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
                throw .membership(.postponed(change(pending).text, because: "\(error)"))
            }
        }
        // Whatever has changed, there may be something to send or to report.
        wakes.wake(.all)
        return value
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
            let rows = pending.rows
            try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
            duties.pending = pending
            if try await put(pending) { return }
        }
        throw .membership(.contended)
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
            do throws(TrustError) { try chain.append(pending.link, knowing: identities) } catch {
                throw .trust(error)
            }
        }
        let isTaken = chain.links[Int(sequence)].bytes == pending.link
        if isTaken {
            let row = KeptChange(KeptRow.Key(.memberLink, number: sequence), pending.link)
            try await asking { () async throws(ReplicaError) in
                try await replica.save([row] + PendingLink.noRows)
            }
            duties.pending = nil
            if let set = pending.wraps.flatMap({ try? WrapSet($0) }) { try await keepWraps([set]) }
        } else {
            try await dropPending()
        }
        try await openKeys()
        return isTaken
    }

    /// Puts an object; returns false if the name is taken.
    func putNew(_ name: RemoteName, _ bytes: [UInt8]) async throws(SyncError) -> Bool {
        do throws(RemoteError) {
            try await remote.put(name, .memory(bytes), ifAbsent: true)
            status.progress.bytesSent += bytes.count
            return true
        } catch {
            guard error == .exists else {
                throw error == .cancelled ? .cancelled : .remote(error, during: .members)
            }
            return false
        }
    }

    func wrapsName(_ pending: PendingLink) -> RemoteName? {
        guard let wraps = pending.wraps, let set = try? WrapSet(wraps) else { return nil }
        return layout.wraps(epoch: UInt64(set.record.epoch.number), hash: set.hash.bytes)
    }

    /// Forgets a link whose place another one has taken, and deletes its wraps: it can never become valid.
    private func dropPending() async throws(SyncError) {
        guard let pending = duties.pending else { return }
        // The link in its place may name the same set: this device may have made it with older bounds.
        if let name = wrapsName(pending), let set = pending.wraps.flatMap({ try? WrapSet($0) }),
            !chain.state.grants.contains(where: { $0.wraps == set.hash })
        {
            try await reaching { () async throws(RemoteError) in try await remote.delete(name) }
        }
        try await asking { () async throws(ReplicaError) in try await replica.save(PendingLink.noRows) }
        duties.pending = nil
    }

    // MARK: After a crash

    /// Continues with a link that was interrupted by a crash, or by a failure of the remote.
    func resumePending() async throws(SyncError) {
        guard let pending = duties.pending else { return }
        guard let record = try? LinkRecord(pending.link) else { return try await dropPending() }
        if record.sequence < chain.nextSequence, chain.links[Int(record.sequence)].bytes == pending.link {
            if let set = pending.wraps.flatMap({ try? WrapSet($0) }) { try await keepWraps([set]) }
            try await asking { () async throws(ReplicaError) in try await replica.save(PendingLink.noRows) }
            duties.pending = nil
            return
        }
        if let newer = try await withPresentBounds(record, pending), newer != pending {
            let rows = newer.rows
            try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
            duties.pending = newer
        }
        var copy = chain
        if let pending = duties.pending, record.sequence == chain.nextSequence,
            (try? copy.append(pending.link, knowing: identities)) != nil
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
        let body = record.body
        guard record.sequence == chain.nextSequence,
            let operation = try? unsafe MemberOperation(code: record.code, body: body.span.bytes),
            let bounded = operation.bounded, bounded.identity != ownIdentity
        else { return nil }
        try await pullAllLogs()
        let bounds = try bounds(of: bounded.identity)
        guard bounds != bounded.bounds, let link = try? link(operation.with(bounds)) else { return nil }
        return PendingLink(link: link, wraps: pending.wraps)
    }

    /// Repeats the change of a link whose place was taken.
    private func redo(_ record: LinkRecord) async throws(SyncError) {
        let body = record.body
        guard let operation = try? unsafe MemberOperation(code: record.code, body: body.span.bytes) else {
            return
        }
        switch operation {
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
        // A request is still there; a rotation that is due is still due.
        case .addMember, .createVault, .rotateKey, .memberKeysRolled, .restoreFromBackup: break
        }
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

/// Converts to nanoseconds; a later time than fits becomes the last one that does.
func nanoseconds(milliseconds: UInt64) -> Int64 {
    let most = UInt64(Int64.max / 1_000_000)
    return Int64(min(milliseconds, most)) * 1_000_000
}
