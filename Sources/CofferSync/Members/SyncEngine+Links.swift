internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Links that this device makes. A link is saved before it is put, and the set of wraps that it names is put before it:
// a crash at any point leaves a link that is there as a whole, or one that the next round puts or makes anew.
extension SyncEngine {
    /// How often others may be first before nothing more is tried.
    private static let attemptCountMax = 32

    /// The time by this device's clock, in nanoseconds since 1970.
    var time: Int64 { nanoseconds(milliseconds: setup.milliseconds()) }

    /// This user.
    var ownIdentity: IdentityID { setup.keys.author.identity }

    /// Runs what the rules of the member chain may refuse.
    func ruling<Value>(_ body: () throws(TrustError) -> Value) throws(SyncError) -> Value {
        do throws(TrustError) { return try body() } catch { throw .membership(.refused(error)) }
    }

    /// Runs something that the user asked for, knowing all links that there are.
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
                // It goes on with the next round: who asked must know.
                guard let pending = duties.pending, pending != before, case .remote = error else {
                    throw error
                }
                throw .membership(.postponed(change(pending).text, because: "\(error)"))
            }
        }
        // Whatever was changed, there may be something to send or to tell.
        wakes.wake(.all)
        return value
    }

    /// Makes a link and puts it; who comes second reads the others' links and makes it anew.
    ///
    /// - Parameter make: Checks what is still to be done, by the links that are known then; nil for nothing.
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

    /// Puts what was saved, and takes it; false if another link is there.
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

    /// Puts an object; false if there is one.
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

    /// Forgets a link whose place another one has taken: it can never appear any more.
    ///
    /// Its wraps are deleted.
    private func dropPending() async throws(SyncError) {
        guard let pending = duties.pending else { return }
        // Those of the link that is there may be the same: it was made here, with older bounds.
        if let name = wrapsName(pending), let set = pending.wraps.flatMap({ try? WrapSet($0) }),
            !chain.state.grants.contains(where: { $0.wraps == set.hash })
        {
            try await reaching { () async throws(RemoteError) in try await remote.delete(name) }
        }
        try await asking { () async throws(ReplicaError) in try await replica.save(PendingLink.noRows) }
        duties.pending = nil
    }

    // MARK: After a crash

    /// Goes on with a link that was begun before a crash, or a failure of the remote.
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

    /// The link with bounds at the commits that are applied here by now, so that what came since it was made counts.
    ///
    /// The epoch that it begins is the same, with the same set of wraps: should the older link come to stand there after
    /// all, nothing is missing.
    ///
    /// - Returns: Nil for one without bounds, and where it can be made no more.
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

    /// Does once more what a link would have done whose place was taken.
    private func redo(_ record: LinkRecord) async throws(SyncError) {
        let body = record.body
        guard let operation = try? unsafe MemberOperation(code: record.code, body: body.span.bytes) else {
            return
        }
        switch operation {
        case .removeMember(let identity, _, _):
            // Nor is one removed again who came back meanwhile; one who has left is bounded all the same.
            let hasComeBack = chain.state.members[identity].map { $0.joined >= record.sequence } ?? false
            try await removeMember(identity, onlyIfLeft: hasComeBack)
        case .changeRole(let identity, let role, _): try await changeRole(of: identity, to: role)
        case .leave(let successor, _): try await leaveVault(successor)
        case .addMember(let identity, _, let role, nil, _):
            // Who was a member meanwhile, and is none any more, is not brought back.
            guard !chain.hasChanged(identity, since: record.sequence) else { return }
            try await addMember(identity, role)
        // A request is still there; what is owed is owed still.
        case .addMember, .createVault, .rotateKey, .memberKeysRolled, .restoreFromBackup: break
        }
    }
}

extension MemberOperation {
    /// Whose commits it bounds, and where; nil if it bounds none.
    fileprivate var bounded: (identity: IdentityID, bounds: LogBounds)? {
        switch self {
        case .removeMember(let identity, _, let bounds), .memberKeysRolled(let identity, _, let bounds):
            (identity, bounds)
        // Without the right to write, nothing is to be bounded.
        case .changeRole(let identity, .reader, let bounds): (identity, bounds)
        default: nil
        }
    }

    /// The same with other bounds.
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

/// A time in nanoseconds; the last one that there is for those that are later.
func nanoseconds(milliseconds: UInt64) -> Int64 {
    let most = UInt64(Int64.max / 1_000_000)
    return Int64(min(milliseconds, most)) * 1_000_000
}
