internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A look at all that a new device would need from the remote besides packs; changes nothing.
///
/// Expects what the engine knew when it began: what comes later is not missing, but counts as not checked.
struct RemoteInspection: Sendable {
    /// The most commits that are asked for because a listing lacks them, or that a log lacks in a row; others are
    /// not looked for.
    private static let doubtfulCountMax = 1024
    /// The fewest bytes of a commit: a listed object that is shorter was cut short.
    private static let commitByteCountMin =
        SignedRecord.headerByteCount + Padding.byteCountMin + RecordSeal.byteCount + 2 * RecordCipher.overhead
    /// How many objects are fetched at a time.
    private static let fetchedAtOnce = 16

    let objects: RemoteObjects
    let members: KnownMembers
    let duties: MemberDuties
    let names: MemberNames
    let logs: KnownLogs
    let ownLog: OwnLog
    /// The checkpoint that counts, as far as this device knows.
    let standing: CheckpointStanding?
    let verifier: CommitVerifier
    /// Finds the checkpoint with which a new device would begin.
    var search: CheckpointSearch
    /// Whether to fetch and verify everything; otherwise, what a listing shows in the right size is believed.
    let readsAll: Bool
    private(set) var findings = RemoteFindings()
    /// How many commits were asked for because a listing lacks them.
    private var askedCount = 0
    /// How many commits were not looked for, because too many others are missing.
    private var skippedCount = 0

    private var layout: RemoteLayout { objects.layout }

    init(
        _ objects: RemoteObjects, _ members: KnownMembers, _ duties: MemberDuties, _ names: MemberNames,
        _ logs: KnownLogs, _ ownLog: OwnLog, standing: CheckpointStanding?, _ verifier: CommitVerifier,
        _ search: CheckpointSearch, isBehind: Bool, readsAll: Bool
    ) {
        (self.objects, self.members, self.duties, self.names) = (objects, members, duties, names)
        (self.logs, self.ownLog, self.standing) = (logs, ownLog, standing)
        (self.verifier, self.search, self.readsAll) = (verifier, search, readsAll)
        findings.isBehind = isBehind
    }

    /// Looks at everything; what cannot be looked at is among the failures.
    mutating func run() async {
        await look()
        if findings.isBehind { findings.failures.append(("commits and checkpoints", .behind)) }
        if skippedCount > 0 { findings.failures.append(("commits", .tooManyMissing(skipped: skippedCount))) }
    }

    private mutating func look() async {
        do throws(SyncError) {
            guard try await hasFormat() else { return add(.vault) }
        } catch {
            return findings.failures.append(("members, commits and checkpoints", error))
        }
        do throws(SyncError) { try await compareMembers() } catch {
            findings.failures.append(("members and their keys", error))
        }
        do throws(SyncError) { try await compareCommits(besides: try await checkpoint()) } catch {
            findings.failures.append(("commits and checkpoints", error))
        }
    }

    /// Looks for the object that marks the vault; returns false if there is none.
    private mutating func hasFormat() async throws(SyncError) -> Bool {
        let found = try await objects.fetch(layout.format, byteCountMax: RemoteFormat.byteCount)
        if found == .absent { return false }
        if found != .bytes(RemoteFormat(vault: layout.vault).bytes) { add(.format(name: layout.format.text)) }
        return true
    }

    private mutating func add(_ problem: RemoteProblem) { findings.problems.append(problem) }

    // MARK: Members

    private mutating func compareMembers() async throws(SyncError) {
        let links = members.chain.links
        let lostLinks = try await missing(links.map { KeptObject($0, layout) }, below: layout.members)
        let numbers = lostLinks.compactMap { RemoteLayout.sequence(of: $0.object.name) }
        if let first = numbers.min() { add(.links(first: first, others: numbers.count - 1)) }

        let kept = members.keptIdentities(duties.cards, layout)
        var identities: Set<IdentityID> = []
        for lost in try await missing(kept, below: layout.identities) {
            guard let user = lost.object.name.user, let identity = members.identityChains[user],
                let id = identity.identity
            else { continue }
            // A newer key may have replaced the one that this device knows.
            if let found = lost.found.bytes, identity.isTransientKey(found) { continue }
            identities.insert(id)
        }
        for id in identities.sorted() { add(.identity(names.name(of: id))) }

        guard let epoch = members.chain.state.epoch else { return }
        var wraps: [KeptObject] = []
        var unseen: [RemoteName: WrapSetHash] = [:]
        for grant in members.chain.state.grants {
            let name = layout.wraps(grant.wraps, of: epoch)
            if let set = duties.keptWraps[grant.wraps] {
                wraps.append(KeptObject(name: name, bytes: set.record.bytes))
            } else {
                unseen[name] = grant.wraps
            }
        }
        var lost = Set(
            try await missing(wraps, below: layout.wraps(epoch: UInt64(epoch.number))).map(\.object.name))
        // This device cannot put these back, and does not know their sizes.
        for (name, hash) in unseen {
            let fetched = try await objects.fetch(name, byteCountMax: WrapSet.byteCountMax)
            let set = fetched.bytes.flatMap { try? WrapSet($0) }
            if set?.hash != hash { lost.insert(name) }
        }
        if !lost.isEmpty { add(.wraps(count: lost.count)) }
    }

    /// The objects that the remote lacks, or has other bytes in place of.
    private func missing(
        _ kept: [KeptObject], below prefix: RemotePrefix
    ) async throws(SyncError) -> [LostObject] {
        let expected = Set(kept.map(\.name))
        let listed = try await objects.sizes(below: prefix, countMax: expected.count) {
            expected.contains($0)
        }
        let doubtful = readsAll ? kept : kept.filter { listed[$0.name] != $0.bytes.count }
        var lost: [LostObject] = []
        for start in stride(from: 0, to: doubtful.count, by: Self.fetchedAtOnce) {
            let some = Array(doubtful[start..<min(start + Self.fetchedAtOnce, doubtful.count)])
            lost += try await objects.differing(some, byteCountMax: some.map(\.bytes.count).max() ?? 0)
        }
        return lost
    }

    // MARK: Checkpoints

    /// Looks for the checkpoint with which a new device would begin; nil if it would begin with the first commits.
    private mutating func checkpoint() async throws(SyncError) -> VerifiedCheckpoint? {
        guard let checkpoint = try await search.newest() else { return nil }
        let dot = checkpoint.dot
        var sizes: [Int: Int] = [:]
        let pieces = checkpoint.body.pieces
        let pieceNames = Dictionary(
            uniqueKeysWithValues: pieces.indices.map {
                (layout.checkpointPiece(dot.log, dot.sequence, UInt32($0)), $0)
            })
        try await objects.list(layout.checkpoints) { entries in
            for entry in entries {
                if let number = pieceNames[entry.name] { sizes[number] = entry.byteCount }
            }
            return .next
        }
        var lostCount = 0
        for (number, piece) in pieces.enumerated()
        where readsAll || sizes[number] != Int(piece.byteCount) {
            let name = layout.checkpointPiece(dot.log, dot.sequence, UInt32(number))
            let fetched = try await objects.fetch(name, byteCountMax: CheckpointPiece.byteCountMax)
            let groups = fetched.bytes.flatMap {
                checkpoint.groups(ofPiece: number, $0, root: verifier.root)
            }
            if groups == nil { lostCount += 1 }
        }
        if lostCount > 0 { add(.pieces(logs.author(dot.log), sequence: dot.sequence, count: lostCount)) }
        return checkpoint
    }

    // MARK: Commits

    /// Looks for the commits that a new device would need: those that were applied here, after the checkpoint.
    private mutating func compareCommits(besides checkpoint: VerifiedCheckpoint?) async throws(SyncError) {
        let covered = checkpoint?.body.versions ?? VersionVector()
        let wanted = wantedCommits(after: covered)
        var listed: [LogID: Set<UInt64>] = [:]
        var isBehind = logs.queue.versions.firstMissing(of: covered) != nil
        let kept = ownLog.kept
        try await objects.list(layout.logs) { entries in
            for entry in entries {
                guard let dot = entry.name.commit else { continue }
                if isNew(dot) { isBehind = true }
                guard wanted[dot.log]?.contains(dot.sequence) == true else { continue }
                let size = dot.log == logs.own ? kept[dot.sequence] : nil
                let isWhole =
                    size.map { $0 == entry.byteCount } ?? (entry.byteCount >= Self.commitByteCountMin)
                if isWhole { listed[dot.log, default: []].insert(dot.sequence) }
            }
            return .next
        }
        if logs.applied.isEmpty, !isBehind {
            let records = try await objects.sizes(below: layout.checkpoints, countMax: 1) {
                $0.checkpoint != nil
            }
            isBehind = !records.isEmpty
        }
        if isBehind { findings.isBehind = true }
        var lost: [Dot] = []
        for (log, sequences) in wanted.sorted(by: { $0.key < $1.key }) {
            guard let summary = logs[log] else { continue }
            let count = Int(sequences.upperBound - sequences.lowerBound + 1)
            findings.commitCount = Self.sum(findings.commitCount, count)
            lost += try await lostCommits(
                of: summary, sequences, besides: readsAll ? [] : listed[log] ?? [])
        }
        try await report(lost, besides: checkpoint)
    }

    /// Whether this device has yet to apply a commit; not if it follows one that ended its log for everybody.
    private func isNew(_ dot: Dot) -> Bool {
        if let stop = logs.stops[dot.log], stop.problem.isFinal, stop.dot.sequence <= dot.sequence {
            return false
        }
        return dot.sequence > logs.appliedSequence(dot.log)
    }

    /// Asks for commits of a log, besides those that are believed to be there.
    ///
    /// A member's modified program can claim any number of commits, so there may be too many to ask for.
    ///
    /// - Returns: Those that are missing or damaged.
    private mutating func lostCommits(
        of summary: LogSummary, _ sequences: ClosedRange<UInt64>, besides believed: Set<UInt64>
    ) async throws(SyncError) -> [Dot] {
        var lost: [Dot] = []
        var (next, lostInRow) = (sequences.lowerBound, 0)
        while next <= sequences.upperBound {
            let room = Self.doubtfulCountMax - (readsAll ? lostInRow : askedCount)
            guard room > 0 else {
                let rest = Int(sequences.upperBound - next + 1) - believed.count { $0 >= next }
                skippedCount = Self.sum(skippedCount, rest)
                break
            }
            var some: [Dot] = []
            while next <= sequences.upperBound, some.count < min(room, Self.fetchedAtOnce) {
                if !believed.contains(next) { some.append(Dot(log: summary.log, sequence: next)) }
                next += 1
            }
            askedCount = Self.sum(askedCount, some.count)
            let fetched = await objects.commits(some)
            for dot in some {
                guard let result = fetched[dot] else { continue }
                if isSound(try objects.content(result), at: dot, summary) {
                    lostInRow = 0
                } else {
                    lostInRow += 1
                    lost.append(dot)
                }
            }
        }
        return lost
    }

    /// The sum of two numbers; the largest number if it is too large.
    private static func sum(_ one: Int, _ other: Int) -> Int {
        let (sum, isTooLarge) = one.addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }

    /// The numbers of the commits of each log that a new device would need.
    private func wantedCommits(after covered: VersionVector) -> [LogID: ClosedRange<UInt64>] {
        var wanted: [LogID: ClosedRange<UInt64>] = [:]
        for (log, summary) in logs.applied {
            // Commits of the lost side of a fork count for nobody else.
            guard members.chain.has(summary.head.members),
                !members.chain.signingKeys(of: summary.author).isEmpty
            else { continue }
            var last = log == logs.own ? ownLog.lastSent(head: summary.head.sequence) : summary.head.sequence
            if let withdrawn = logs.withdrawn[log] { last = min(last, withdrawn - 1) }
            // As `hasRestored`: a backup without them has replaced the storage.
            for restore in members.chain.state.restores
            where restore.sequence > summary.head.members.sequence {
                last = min(last, restore.bounds[log]?.sequence ?? 0)
            }
            let first = covered[log] + 1
            if first <= last { wanted[log] = first...last }
        }
        return wanted
    }

    /// Whether an object is a commit that its author made for this place.
    private func isSound(_ fetched: Fetched, at dot: Dot, _ summary: LogSummary) -> Bool {
        guard let bytes = fetched.bytes,
            let commit = try? verifier.authentic(bytes, at: dot, of: summary.author)
        else { return false }
        return dot.sequence != summary.head.sequence || commit.point.hash == summary.head.hash
    }

    /// The checkpoint that should stand, if a new device cannot begin with it or a later one.
    private func unusable(besides checkpoint: VerifiedCheckpoint?) -> CheckpointStanding? {
        let covered = checkpoint?.body.versions ?? VersionVector()
        return standing.flatMap { covered.firstMissing(of: $0.covered) == nil ? nil : $0 }
    }

    /// Reports lost commits, by log; those that an unusable checkpoint covers with it.
    private mutating func report(_ lost: [Dot], besides checkpoint: VerifiedCheckpoint?)
        async throws(SyncError)
    {
        let unusable = unusable(besides: checkpoint)
        if let unusable {
            let dot = unusable.dot
            let gone = lost.count { unusable.covers($0) }
            let record = layout.checkpoint(dot.log, dot.sequence)
            var isLost = gone > 0 || search.refusals.contains { $0.checkpoint == dot }
            if !isLost { isLost = try await !objects.has(record) }
            // One that was confirmed late does not count for new devices, which then begin with the commits.
            if isLost { add(.checkpoint(logs.author(dot.log), sequence: dot.sequence, gone: gone)) }
        }
        let needed = lost.filter { unusable?.covers($0) != true }
        for (log, dots) in Dictionary(grouping: needed, by: \.log).sorted(by: { $0.key < $1.key }) {
            guard let first = dots.map(\.sequence).min() else { continue }
            if log == logs.own {
                add(
                    .ownCommits(
                        first: first, others: dots.count - 1,
                        areKept: dots.allSatisfy { ownLog.kept[$0.sequence] != nil }))
            } else {
                add(.commits(logs.author(log), first: first, others: dots.count - 1))
            }
        }
    }
}
