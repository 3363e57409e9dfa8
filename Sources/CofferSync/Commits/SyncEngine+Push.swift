internal import CofferFacts
internal import CofferCrypto
package import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Sends local changes in commits; the replica puts the packs that they need.
extension SyncEngine {
    /// The most commits that are made before others' commits get their turn again.
    static let commitCountMax = 16
    /// A commit with fewer bytes than this counts as small: little was to be sent.
    private static let smallByteCount = 64 << 10

    /// Puts local changes.
    ///
    /// If the round looks at nothing else, changes made in the meantime are collected until the next one.
    func push(_ scope: RoundScope = .all) async throws(SyncError) {
        publish(.sending)
        // Withdrawn commits count nowhere, and are not put any more.
        let role = try ownRole()
        try await putOutgoing()
        guard role?.may(.write) == true else { return }
        for _ in 0..<Self.commitCountMax {
            guard try await makeCommit(isNeeded: false) else { return }
            let isSmall = outgoing.values.allSatisfy { $0.count < Self.smallByteCount }
            try await putOutgoing()
            if isSmall, !scope.acknowledges { break }
        }
        // If files change all the time, this would never end.
        wakes.wake(.changes)
    }

    /// Acknowledges applied commits that change something.
    ///
    /// Acknowledgements themselves are never acknowledged, so that two devices come to rest.
    func acknowledge() async throws(SyncError) {
        guard owesAcknowledgement, try ownRole() != nil else { return }
        guard try await makeCommit(isNeeded: true) else { return }
        try await putOutgoing()
    }

    /// This user's role in the vault; nil if the user is not a member, or not known to be one.
    package var role: Role? {
        let member = chain.state.members[ownIdentity]
        return member?.keys == nil ? nil : member?.role
    }

    /// The role in which this device makes commits; nil if it may make none now.
    ///
    /// - Throws: `.ownLogEnded`, `.ownLogForked`: no commit can be added to this log any more;
    ///   `.ownLogAhead`: none can be added before the remote shows the links and keys that this device had.
    func ownRole() throws(SyncError) -> Role? {
        if let fork = forks[setup.log], fork.isProven { throw .ownLogForked(fork) }
        if let first = withdrawn[setup.log] { throw .ownLogEnded(sequence: first - 1) }
        // A new log must not repeat the contents of the one before.
        if !ownWithdrawn.isEmpty { return nil }
        if let stop = stops[setup.log], stop.problem.isFinal {
            throw .ownLogEnded(sequence: stop.dot.sequence - 1)
        }
        if let stop = stops[setup.log], stop.problem.mayBeForgotten {
            throw .ownLogAhead(sequence: stop.dot.sequence)
        }
        guard hasSeenOwnEnd, logs[setup.log]?.head.sequence ?? 0 >= ownSequenceMin else { return nil }
        // A commit that names commits which never count would never count itself.
        if hasLostCommits, !isLeavingLostSide { return nil }
        let author = setup.keys.author
        let member = chain.state.members[author.identity]
        // The members do not know these keys, or no longer do, so no commit would count.
        return member?.keys?.signing == author.signing ? member?.role : nil
    }

    /// Makes a commit and saves it, to be put.
    ///
    /// A commit with notices changes no facts, so that others can compare what it refers to.
    ///
    /// - Returns: Whether there was anything to commit.
    func makeCommit(
        isNeeded: Bool, _ notices: [CommitNotice] = []
    ) async throws(SyncError) -> Bool {
        let draft = try draft(isNeeded: isNeeded, notices)
        let sealed = try await asking { () async throws(ReplicaError) in try await replica.makeCommit(draft) }
        guard let sealed else { return false }
        hasMade(sealed, changes: notices.isEmpty && sealed.summary.head.writes)
        return true
    }

    /// A commit of this device, without its facts.
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

    /// A function that shows a replica's progress with packs in the status.
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

    /// Records a commit that the replica has made and saved.
    ///
    /// - Parameter changes: Whether it has facts.
    func hasMade(_ commit: SealedCommit, changes: Bool) {
        let dot = Dot(log: setup.log, sequence: commit.summary.head.sequence)
        outgoing[dot.sequence] = commit.bytes
        logs[setup.log] = commit.summary
        tails[setup.log] = commit.summary
        hashes.note(dot, commit.summary.head.hash)
        // Whatever is in its place at the remote is dealt with when it is put.
        if let stop = stops[setup.log], !stop.problem.isFinal, stop.dot.sequence <= dot.sequence {
            stops[setup.log] = nil
        }
        // Commits that waited for it are dropped from the queue, and fetched again.
        if !queue.applied(dot).isEmpty { isLoaded = false }
        owesAcknowledgement = false
        if changes { noticeChanges() }
    }

    /// The last applied commit of every other log.
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

    /// Puts the saved commits, and records that they are there.
    func putOutgoing() async throws(SyncError) {
        for (sequence, bytes) in outgoing.sorted(by: { $0.key < $1.key }) {
            try await put(bytes, at: Dot(log: setup.log, sequence: sequence))
            try await hasPut(bytes, sequence: sequence)
        }
    }

    /// Puts a commit of this device, over whatever else may be in its place.
    func put(_ bytes: [UInt8], at dot: Dot) async throws(SyncError) {
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

    /// Deals with an object that is already in the place of a commit of this device.
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
        // It is not this device's: an obstacle by another member, or a commit that was cut short.
        try await reaching { () async throws(RemoteError) in
            try await remote.put(name, .memory(bytes), ifAbsent: false)
        }
        guard case .other(let author) = occupant else { return }
        note(.obstacle(sequence: dot.sequence, author, name: author.flatMap(knownName)))
    }

    /// The object in the place of a commit of this device.
    private enum Occupant {
        /// The commit from the lost side of a fork that this one was remade from.
        case lostCommit
        /// Anything else, and its author if known.
        case other(IdentityID?)
    }

    /// Identifies the object that has to leave the place of a commit of this device.
    ///
    /// - Throws: if this device may have made it and not remade it: such a commit is never overwritten.
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
            // A commit from the lost side of a fork is overwritten only by the commit remade from it.
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

    /// Checks a commit in this device's log, which this user must have signed.
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

    /// The problem of a commit in this device's log: without this user's signature it was not made here,
    /// whatever links it names.
    func ownProblem(
        _ problem: CommitProblem, _ bytes: [UInt8], at dot: Dot, _ verifier: CommitVerifier
    ) -> CommitProblem {
        guard case .unknownMembers = problem else { return problem }
        // A restored profile has older keys; the identity's chain has the later ones.
        var keys = [setup.keys.author.signing]
        if let identity = identities[ownIdentity] {
            keys += (0..<identity.nextSequence).compactMap { identity.state.keys(after: $0)?.signing }
        }
        return verifier.isSigned(bytes, at: dot, by: ownIdentity, keys: keys) ? problem : .notAuthentic
    }
}
