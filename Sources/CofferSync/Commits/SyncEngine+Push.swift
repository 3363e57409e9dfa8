internal import CofferFacts
internal import CofferCrypto
package import CofferFormat
internal import CofferRemote
internal import CofferTrust

// What was changed here, in commits; the replica puts the packs that these need.
extension SyncEngine {
    /// How many commits are made before what others have made has its turn again.
    static let commitCountMax = 16
    /// Bytes of a commit below which there was little to be sent.
    private static let smallByteCount = 64 << 10

    /// Puts what was changed; in a round that looks at nothing else, what comes meanwhile gathers until the next one.
    func push(_ scope: RoundScope = .all) async throws(SyncError) {
        publish(.sending)
        // Withdrawn commits count for nobody, and are not put any more.
        let role = try ownRole()
        try await putOutgoing()
        guard role?.may(.write) == true else { return }
        for _ in 0..<Self.commitCountMax {
            guard try await makeCommit(isNeeded: false) else { return }
            let isSmall = outgoing.values.allSatisfy { $0.count < Self.smallByteCount }
            try await putOutgoing()
            if isSmall, !scope.acknowledges { break }
        }
        // Where files change all the time, there would be no end to it.
        wakes.wake(.changes)
    }

    /// Tells others what was applied, if that is anything that changes something: acknowledgements alone are never
    /// acknowledged, so that two devices come to rest.
    func acknowledge() async throws(SyncError) {
        guard owesAcknowledgement, try ownRole() != nil else { return }
        guard try await makeCommit(isNeeded: true) else { return }
        try await putOutgoing()
    }

    /// What this user may do in the vault; nil if it is no member, or not known to be one.
    package var role: Role? {
        let member = chain.state.members[ownIdentity]
        return member?.keys == nil ? nil : member?.role
    }

    /// The role by which this device makes commits; nil if it may make none.
    ///
    /// - Throws: `.ownLogEnded`, `.ownLogForked`: with this log nothing can be said any more; `.ownLogAhead`: not
    ///   before the remote shows the links and keys that this device had.
    func ownRole() throws(SyncError) -> Role? {
        if let fork = forks[setup.log], fork.isProven { throw .ownLogForked(fork) }
        if let first = withdrawn[setup.log] { throw .ownLogEnded(sequence: first - 1) }
        // A new log has nothing to say of what was said in the one before.
        if !ownWithdrawn.isEmpty { return nil }
        if let stop = stops[setup.log], stop.problem.isFinal {
            throw .ownLogEnded(sequence: stop.dot.sequence - 1)
        }
        if let stop = stops[setup.log], stop.problem.mayBeForgotten {
            throw .ownLogAhead(sequence: stop.dot.sequence)
        }
        guard hasSeenOwnEnd, logs[setup.log]?.head.sequence ?? 0 >= ownSequenceMin else { return nil }
        // What names commits that never count, would never count either.
        if hasLostCommits, !isLeavingLostSide { return nil }
        let author = setup.keys.author
        let member = chain.state.members[author.identity]
        // With keys that the members do not know, or know no more, nothing would count.
        return member?.keys?.signing == author.signing ? member?.role : nil
    }

    /// Makes a commit and saves it, to be put.
    ///
    /// One with notices changes no facts, so that others can compare what it speaks of.
    ///
    /// - Returns: Whether there was anything to say.
    func makeCommit(
        isNeeded: Bool, _ notices: [CommitNotice] = []
    ) async throws(SyncError) -> Bool {
        let draft = try draft(isNeeded: isNeeded, notices)
        let sealed = try await asking { () async throws(ReplicaError) in try await replica.makeCommit(draft) }
        guard let sealed else { return false }
        hasMade(sealed, changes: notices.isEmpty && sealed.summary.head.writes)
        return true
    }

    /// A commit of this device, but for what was changed.
    func draft(isNeeded: Bool, _ notices: [CommitNotice] = []) throws(SyncError) -> CommitDraft {
        guard let key = keyring?.current, let members = chain.head, key.epoch == chain.state.epoch else {
            throw .keys(.noWrap)
        }
        return CommitDraft(
            log: setup.log, milliseconds: setup.milliseconds(), label: setup.introduction.label,
            isNeeded: isNeeded, takesChanges: try ownRole()?.may(.write) == true && notices.isEmpty,
            progress: packProgress(),
            introduction: setup.introduction, previous: logs[setup.log], heads: try heads(),
            notices: notices, key: key, members: members, author: setup.keys.author)
    }

    /// Puts what a replica tells of packs into the status.
    private func packProgress() -> @Sendable (PackProgress) -> Void {
        let before = status.progress.bytesSent
        return { [weak self] packs in
            Task { await self?.note(packs, after: before) }
        }
    }

    private func note(_ packs: PackProgress, after before: Int) {
        guard before + packs.bytesSent >= status.progress.bytesSent else { return }
        status.progress.bytesSent = before + packs.bytesSent
        status.progress.bytesToSend = packs.bytesToSend
        publish(status.phase)
    }

    /// Takes note of a commit that the replica has made and saved.
    ///
    /// - Parameter changes: Whether it has facts.
    func hasMade(_ commit: SealedCommit, changes: Bool) {
        let dot = Dot(log: setup.log, sequence: commit.summary.head.sequence)
        outgoing[dot.sequence] = commit.bytes
        logs[setup.log] = commit.summary
        tails[setup.log] = commit.summary
        hashes.note(dot, commit.summary.head.hash)
        // What is in its place at the remote is dealt with when it is put.
        if let stop = stops[setup.log], !stop.problem.isFinal, stop.dot.sequence <= dot.sequence {
            stops[setup.log] = nil
        }
        // What waited for it is held no longer: it is fetched again.
        if !queue.applied(dot).isEmpty { isLoaded = false }
        owesAcknowledgement = false
        if changes { noticeChanges() }
    }

    /// The last commit of every other log that was applied.
    func heads() throws(SyncError) -> LogBounds {
        let others = logs.values.filter { $0.log != setup.log }
        guard others.count <= setup.logCountMax else { throw .tooManyLogs }
        do throws(FormatError) {
            return try LogBounds(
                others.map { LogBound(log: $0.log, sequence: $0.head.sequence, hash: $0.head.hash) })
        } catch {
            throw .tooManyLogs
        }
    }

    /// Puts the commits that were saved, and notes that they are there.
    func putOutgoing() async throws(SyncError) {
        for (sequence, bytes) in outgoing.sorted(by: { $0.key < $1.key }) {
            try await put(bytes, at: Dot(log: setup.log, sequence: sequence))
            try await asking { () async throws(ReplicaError) in
                try await replica.save([KeptChange(KeptRow.Key(.outgoing, number: sequence), nil)])
            }
            outgoing[sequence] = nil
        }
    }

    private func put(_ bytes: [UInt8], at dot: Dot) async throws(SyncError) {
        let name = layout.commit(dot.log, dot.sequence)
        status.progress.bytesToSend = bytes.count
        do throws(RemoteError) {
            try await remote.put(name, .memory(bytes), ifAbsent: true)
        } catch {
            guard error == .exists else {
                throw error == .cancelled ? .cancelled : .remote(error, during: .sending)
            }
            try await settle(bytes, at: dot, name)
        }
        status.progress.commitsSent += 1
        status.progress.bytesSent += bytes.count
        status.progress.bytesToSend = 0
    }

    /// There is an object already where a commit of this device belongs.
    private func settle(_ bytes: [UInt8], at dot: Dot, _ name: RemoteName) async throws(SyncError) {
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(name, byteCountMax: SignedRecord.byteCountMax)
        }
        var occupant = Occupant.other(nil)
        switch fetched {
        case .bytes(bytes): return
        case .absent: throw .remote(.failed("a commit is there and is not"), during: .sending)
        case .bytes(let found): occupant = try self.occupant(found, at: dot, insteadOf: bytes)
        case .tooLong: break
        }
        // Somebody has put something there that is not this device's, to be in its way; or it was cut short.
        try await reaching { () async throws(RemoteError) in
            try await remote.put(name, .memory(bytes), ifAbsent: false)
        }
        guard case .other(let author) = occupant else { return }
        note(.obstacle(sequence: dot.sequence, author, name: author.flatMap(knownName)))
    }

    /// What is in the place of a commit of this device.
    private enum Occupant {
        /// The commit that this one was made anew from, on a lost side of a fork.
        case lostCommit
        /// Something by somebody else, if it can be said by whom.
        case other(IdentityID?)
    }

    /// What has to go from the place of a commit of this device.
    ///
    /// - Throws: where this device may have made it itself, and has not made it anew: that is never overwritten.
    private func occupant(
        _ found: [UInt8], at dot: Dot, insteadOf bytes: [UInt8]
    ) throws(SyncError) -> Occupant {
        switch try ownLogCommit(found, at: dot) {
        case .success(let other):
            let known = CommitHash(Blake2b.hash(bytes, for: .commit))
            let fork = ForkedLog(dot: dot, known: known, other: other.point.hash, witness: nil)
            forks[setup.log] = fork
            throw .ownLogForked(fork)
        case .failure(.otherAuthor(let author)): return .other(author)
        case .failure(.right(.otherHead)):
            // Of a lost side of a fork: only the commit that this one was made anew from is known to be in it.
            let verifier = try verifier()
            guard let lost = verifier.lostCommit(found, at: dot, by: ownIdentity) else { return .other(nil) }
            guard lost.clock != (try? verifier.authentic(bytes, at: dot))?.body.clock else {
                return .lostCommit
            }
            throw .ownLogAhead(sequence: dot.sequence)
        case .failure(let problem):
            if problem.isFinal || problem.mayBeForgotten {
                stops[setup.log] = LogStop(dot: dot, problem: problem)
                _ = try ownRole()
            }
            return .other(nil)
        }
    }

    /// A commit in this device's log that this user has signed.
    private func ownLogCommit(
        _ bytes: [UInt8], at dot: Dot
    ) throws(SyncError) -> Result<VerifiedCommit, CommitProblem> {
        let verifier = try verifier()
        do throws(CommitProblem) {
            return .success(try verifier.authentic(bytes, at: dot, of: ownIdentity))
        } catch {
            return .failure(ownProblem(error, bytes, at: dot, verifier))
        }
    }

    /// What is wrong with a commit in this device's log: one that this user has not signed was not made here, whichever
    /// links it names.
    func ownProblem(
        _ problem: CommitProblem, _ bytes: [UInt8], at dot: Dot, _ verifier: CommitVerifier
    ) -> CommitProblem {
        guard case .unknownMembers = problem else { return problem }
        // The keys of a profile that was put back are older ones; the identity's chain has those that it had since.
        var keys = [setup.keys.author.signing]
        if let identity = identities[ownIdentity] {
            keys += (0..<identity.nextSequence).compactMap { identity.state.keys(after: $0)?.signing }
        }
        return verifier.isSigned(bytes, at: dot, by: ownIdentity, keys: keys) ? problem : .notAuthentic
    }
}
