package import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// From commits of other devices to changes of the tree.
extension Incoming {
    /// How often changes that programs make in the meantime are committed first.
    private static let triesMax = 5
    /// How many commits of local changes are made before names are held; programs may be faster than that.
    private static let collectionsMax = 16
    /// How long names are held for several commits, in nanoseconds.
    private static let holdMax: Int64 = 250_000_000
    /// The number of facts that are applied in one call, unless the first commit has more.
    private static let factCountMax = 8192

    /// Applies commits of other devices, one after the other, each completely or not at all.
    ///
    /// Local changes that may conflict with them become commits first, so that nothing is lost. Other
    /// operations continue in the meantime. Only changes of names wait: briefly, and while a commit with very
    /// many changes is applied. Programs see a valid tree at any time. Everything is on disk when this
    /// returns. Must not be called by a request of a mount, nor under a lock that one takes.
    ///
    /// - Parameter recorder: The recorder of this device's commits; nil if it cannot make any.
    /// - Returns: How many were applied: not all if there are many, or if programs keep changing the items
    ///   concerned.
    /// - Throws: `.noSpace` before any part of a commit is applied; `.busy` if a file that the first commit
    ///   concerns is being written all the time: try again later. Commits before one that fails may have been
    ///   applied.
    package func apply(
        _ commits: [IncomingCommit], as participant: Participant, recorder: (any CommitRecorder)?
    ) throws(FileSystemError) -> AppliedCommits {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer {
                vault.facts.close()
                participant.contents.forgetPrepared()
            }
            var applied = AppliedCommits()
            let batch = Self.batch(of: commits)
            guard !batch.isEmpty else { return applied }
            try prepare(batch, as: participant)
            let items = try vault.reading { state throws(FileSystemError) in
                try state.items(concernedBy: batch.map(\.commit))
            }
            let growths = try growths(in: batch, as: participant)
            try awaitPrograms(beforeChanging: items)
            // A commit without facts conflicts with nothing.
            if let recorder, !items.isEmpty {
                for _ in 0..<Self.collectionsMax {
                    if try vault.outgoing.collect(as: participant, .items(items), recorder) == nil { break }
                }
            }
            try vault.changeElsewhere { changes throws(FileSystemError) in
                vault.holdNames()
                defer { vault.releaseNames() }
                try apply(batch, growths, as: participant, recorder, &applied, &changes)
            }
            try vault.commitIndex()
            try participant.contents.placeArrived(in: vault)
            return applied
        }
    }

    private static func batch(of commits: [IncomingCommit]) -> ArraySlice<IncomingCommit> {
        var (end, count) = (0, 0)
        for commit in commits {
            count += commit.commit.facts.count
            if end > 0, count > factCountMax { break }
            end += 1
        }
        return commits[..<end]
    }

    private func prepare(
        _ commits: ArraySlice<IncomingCommit>, as participant: Participant
    ) throws(FileSystemError) {
        for commit in commits {
            for fact in commit.commit.facts {
                switch fact.assertion {
                case .content(let item, let content?):
                    try participant.contents.prepare(content, of: item, in: vault)
                case .moved(let item, _, let bytes):
                    let content = Fact.Content(bytes: bytes, size: 0)
                    try participant.contents.prepare(content, of: item, in: vault)
                default: break
                }
            }
        }
    }

    /// Makes the kernel write what programs wrote to some files to the vault.
    private func awaitPrograms(beforeChanging items: Set<ItemID>) throws(FileSystemError) {
        guard vault.sink.withLock({ $0 != nil }) else { return }
        let numbers = try vault.reading { state throws(FileSystemError) in
            var numbers: [Int64] = []
            for item in items {
                if let row = try state.row(item, .regular) { numbers.append(row.number) }
            }
            return numbers
        }
        for number in numbers.sorted() { vault.flush(number) }
    }

    private func apply(
        _ commits: ArraySlice<IncomingCommit>, _ growths: [ItemID: [Growth]], as participant: Participant,
        _ recorder: (any CommitRecorder)?, _ applied: inout AppliedCommits, _ changes: inout [VaultChange]
    ) throws(FileSystemError) {
        let end = Clock.monotonic + Self.holdMax
        for commit in commits {
            if applied.count > 0, Clock.monotonic > end { return }
            let update = RemoteUpdate(
                of: vault, by: commit, as: participant, isAlone: recorder == nil, growths: growths)
            var isDone = try vault.committing.withLock { _ throws(FileSystemError) in try update.run() }
            var tries = 1
            // Only for the first commit: a new commit of this device must come before all others.
            while !isDone, applied.count == 0, let recorder, tries < Self.triesMax {
                let items = try vault.reading { state throws(FileSystemError) in
                    try state.items(concernedBy: [commit.commit])
                }
                while try vault.outgoing.collect(as: participant, .items(items), recorder) != nil {}
                isDone = try vault.committing.withLock { _ throws(FileSystemError) in try update.run() }
                tries += 1
            }
            changes += update.changes
            guard isDone else {
                if applied.count == 0 { throw .busy }
                return
            }
            applied.findings += update.findings
            if let missing = update.missing {
                applied.missing = missing
                return
            }
            applied.count += 1
        }
    }

    /// Puts contents in place that were unavailable when they were applied, as far as that is possible now.
    package func placeArrived(_ contents: any ContentPublishing) throws(FileSystemError) {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { vault.facts.close() }
            try contents.placeArrived(in: vault)
        }
    }
}

extension VaultState {
    /// The items that some commits may change: those that their facts mention, and the copies by rule of
    /// these.
    mutating func items(
        concernedBy commits: some Sequence<FactCommit>
    ) throws(FileSystemError) -> Set<ItemID> {
        var items: Set<ItemID> = []
        for commit in commits { items.formUnion(commit.facts.lazy.map(\.assertion.item)) }
        let facts = try openFacts()
        for item in items {
            for copy in try facts.copies(of: item) {
                if let entry = try facts.entry(copy) { items.insert(entry.item) }
            }
        }
        return items
    }
}
