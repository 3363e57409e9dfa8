internal import CofferFacts
internal import CofferCrypto
internal import CofferFormat
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
        try await answerRetirements()
        try await putUnsent()
        guard role?.may(.write) == true else { return }
        try await introduceLog()
        for _ in 0..<Self.commitCountMax {
            guard try await makeCommit(isNeeded: false) else { return }
            let isSmall = ownLog.unsent.values.allSatisfy { $0.count < Self.smallByteCount }
            try await putUnsent()
            if isSmall, !scope.acknowledges { break }
        }
        // If files change all the time, this would never end.
        wakes.wake(.changes)
    }

    /// Makes the first commit of a log before any packs are put: nobody waits for a log of which others know
    /// nothing, and packs that no commit names yet would be deleted.
    private func introduceLog() async throws(SyncError) {
        guard logs.ownSummary == nil, rounds.hasShared || !logs.applied.isEmpty else { return }
        let hasUnsent = try await asking { () async throws(ReplicaError) in try await replica.hasUnsent() }
        guard hasUnsent else { return }
        _ = try await makeCommit(isNeeded: true, takesChanges: false)
        try await putUnsent()
    }

    /// Acknowledges applied commits that change something.
    ///
    /// Acknowledgements themselves are never acknowledged, so that two devices come to rest.
    func acknowledge() async throws(SyncError) {
        guard ownLog.owesAcknowledgement, try ownRole() != nil else { return }
        guard try await makeCommit(isNeeded: true) else { return }
        try await putUnsent()
    }

    /// The role in which this device makes commits; nil if it may make none now.
    ///
    /// - Throws: `.ownLogEnded`, `.ownLogForked`: no commit can be added to this log any more;
    ///   `.ownLogAhead`: none can be added before the remote shows the links and keys that this device had.
    func ownRole() throws(SyncError) -> Role? {
        if let fork = logs.forks[logs.own], fork.isProven { throw .ownLogForked(fork) }
        if let first = logs.withdrawn[logs.own] { throw .ownLogEnded(sequence: first - 1) }
        // A new log must not repeat the contents of the one before.
        if !ownWithdrawn.isEmpty { return nil }
        if let stop = logs.stops[logs.own] {
            if stop.problem.isFinal { throw .ownLogEnded(sequence: stop.dot.sequence - 1) }
            if stop.problem.mayBeForgotten { throw .ownLogAhead(sequence: stop.dot.sequence) }
        }
        guard ownLog.mayContinue(after: logs.appliedSequence(logs.own)) else { return nil }
        // A commit that names commits which never count would never count itself.
        if logs.hasLostCommits(chain), !ownLog.isLeavingLostSide { return nil }
        let member = chain.state.members[ownIdentity]
        // The members do not know these keys, or no longer do, so no commit would count.
        return member?.keys?.signing == setup.keys.author.signing ? member?.role : nil
    }

    /// Where the withdrawn commits begin in this device's logs.
    var ownWithdrawn: [LogID: UInt64] {
        logs.ownWithdrawn(ownIdentity, label: setup.introduction.label)
    }

    /// Makes a commit and saves it, to be put.
    ///
    /// A commit with notices changes no facts, so that others can compare what it refers to.
    ///
    /// - Parameter takesChanges: Whether local changes go into it.
    /// - Returns: Whether there was anything to commit.
    func makeCommit(
        isNeeded: Bool, takesChanges: Bool = true, _ notices: [CommitNotice] = []
    ) async throws(SyncError) -> Bool {
        let draft = try draft(isNeeded: isNeeded, takesChanges: takesChanges, notices)
        let sealed = try await asking { () async throws(ReplicaError) in try await replica.makeCommit(draft) }
        guard let sealed else { return false }
        recordMade(sealed, changes: notices.isEmpty && sealed.summary.head.writes)
        return true
    }

    /// A commit of this device, without its facts.
    func draft(
        isNeeded: Bool, takesChanges: Bool = true, _ notices: [CommitNotice] = []
    ) throws(SyncError) -> CommitDraft {
        guard let key = keyring?.current, let members = chain.head, key.epoch == chain.state.epoch else {
            throw .keys(.noWrap)
        }
        let role = try ownRole()
        let takesChanges = takesChanges && notices.isEmpty && role?.may(.write) == true
        return CommitDraft(
            log: logs.own, milliseconds: setup.milliseconds(), label: setup.introduction.label,
            isNeeded: isNeeded,
            takesChanges: takesChanges,
            movesContents: takesChanges && role?.may(.moveContents) == true,
            progress: packProgress(),
            introduction: setup.introduction, previous: logs.ownSummary, heads: try logs.heads(),
            notices: notices, key: key, members: members, author: setup.keys.author)
    }

    /// A function that shows a replica's progress with packs in the status.
    private func packProgress() -> @Sendable (PackProgress) -> Void {
        let before = status.progress.bytesSent
        return { [weak self] packs in
            Task { await self?.show(packs, after: before) }
        }
    }

    private func show(_ packs: PackProgress, after before: Int) {
        guard before + packs.bytesSent >= status.progress.bytesSent else { return }
        status.progress.bytesSent = before + packs.bytesSent
        status.progress.bytesToSend = packs.bytesToSend
        publish(status.phase)
    }

    /// Records a commit that the replica has made and saved.
    ///
    /// - Parameter changes: Whether it has facts.
    func recordMade(_ commit: SealedCommit, changes: Bool) {
        ownLog.made(commit.bytes, sequence: commit.summary.head.sequence)
        // Commits that waited for it are dropped from the queue, and fetched again.
        if logs.recordMade(commit.summary) { rounds.mustLoad() }
        ownLog.owesAcknowledgement = false
        if changes { checkpoints.recordFacts() }
    }

    /// Puts the saved commits, and records that they are there.
    func putUnsent() async throws(SyncError) {
        for (sequence, bytes) in ownLog.unsent.sorted(by: { $0.key < $1.key }) {
            try await put(bytes, at: Dot(log: logs.own, sequence: sequence))
            var sent = ownLog
            try await save(sent.sent(bytes, sequence: sequence))
            ownLog = sent
        }
    }

    /// Puts a commit of this device, over whatever else may be in its place.
    func put(_ bytes: [UInt8], at dot: Dot) async throws(SyncError) {
        status.progress.bytesToSend = bytes.count
        let objects = RemoteObjects(remote: remote, layout: layout, phase: .sending)
        let name = layout.commit(dot.log, dot.sequence)
        if try await !objects.putNew(name, bytes) { try await overwrite(bytes, at: dot) }
        status.progress.commitsSent += 1
        status.progress.bytesSent += bytes.count
        status.progress.bytesToSend = 0
    }

    /// Puts a commit of this device over another object, unless the object is the same, or this device may
    /// have made it.
    private func overwrite(_ bytes: [UInt8], at dot: Dot) async throws(SyncError) {
        let fetched = try await objects.commit(dot)
        var occupant = Occupant.other(nil)
        switch fetched {
        case .bytes(bytes): return
        case .absent: throw .remote(.failed("a commit is there and is not"), during: .sending)
        case .bytes(let found): occupant = try self.occupant(found, at: dot, insteadOf: bytes)
        case .tooLong: break
        }
        // It is not this device's: an obstacle by another member, or a commit that was cut short.
        try await objects.put(layout.commit(dot.log, dot.sequence), bytes)
        guard case .other(let author) = occupant else { return }
        findings.report(.obstacle(sequence: dot.sequence, author, name: author.flatMap(names.known)))
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
            logs.addOwn(fork)
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
                logs.stopOwn(at: dot, problem)
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
        let keys = [setup.keys.author.signing] + members.signingKeys(of: ownIdentity)
        return verifier.isSigned(bytes, at: dot, by: ownIdentity, keys: keys) ? problem : .notAuthentic
    }
}
