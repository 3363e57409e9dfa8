package import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// From changes on this device to commits.
extension Outgoing {
    /// Makes a commit of changes that are in no commit, as many as fit one.
    ///
    /// The commit and the rows of its recorder are on disk when this returns, so no other commit ever gets
    /// the same sequence number. Files that are being written wait, but for little more than half a minute.
    /// Call this until it returns nil.
    ///
    /// - Parameter takesAll: Whether no change may wait.
    /// - Returns: The commit; nil if there is nothing to send.
    package func collectChanges(
        as participant: Participant, takesAll: Bool = false, recorder: any CommitRecorder
    ) throws(FileSystemError) -> FactCommit? {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { vault.facts.close() }
            try participant.contents.placeArrived(in: vault)
            let commit = try collect(as: participant, takesAll ? .all : .settled, recorder)
            if commit != nil { try vault.commitIndex() }
            return commit
        }
    }

    /// Whether changes are waiting to become a commit.
    package func hasUnsent() throws(FileSystemError) -> Bool {
        try vault.changing { state throws(FileSystemError) in
            guard state.tree.isTracking else { return false }
            try state.tree.storeItems()
            if try !state.index.unsentItems(after: 0, limit: 1).isEmpty { return true }
            return try !state.index.journal(after: 0, limit: 1).isEmpty
        }
    }

    /// Makes a commit of changes; the caller holds `exchanging`.
    func collect(
        as participant: Participant, _ scope: CollectionScope, _ recorder: any CommitRecorder
    ) throws(FileSystemError) -> FactCommit? {
        guard vault.isTracking else { return nil }
        if recorder.movesContents {
            let commit = try vault.changing { state throws(FileSystemError) in
                try state.index.tracking() == .on
                    ? try self.commitMoves(as: participant, recorder, &state) : nil
            }
            if let commit { return commit }
        }
        while recorder.takesChanges {
            let changes = try vault.changing { state throws(FileSystemError) -> CollectedChanges? in
                guard try state.index.tracking() == .on else {
                    return nil
                }
                let changes = try CollectedChanges(scope, &state)
                state.tree.publishing = Set(changes.files)
                return changes
            }
            guard let changes, !changes.isEmpty else { break }
            let contents = try contents(of: changes.files, as: participant)
            let commit = try vault.committing.withLock { _ throws(FileSystemError) in
                try self.commit(changes, contents, as: participant, recorder)
            }
            if let commit { return commit }
            // An item that was created and removed again leaves nothing to send. That is to be seen by those who
            // count what is unsent as of the last commit of the index; more changes may follow.
            try vault.commitIndex()
            if changes.lastRow == nil { break }
        }
        guard recorder.isNeeded else { return nil }
        return try vault.changing { state throws(FileSystemError) in
            try self.commit([], as: participant, recorder, &state)
        }
    }

    /// The values of files' contents, as many as fit one commit.
    private func contents(
        of files: [Int64], as participant: Participant
    ) throws(FileSystemError) -> [Int64: Fact.Content] {
        if files.isEmpty { return [:] }
        do throws(FileSystemError) {
            return try participant.contents.contents(of: files, in: vault)
        } catch {
            vault.state.withLock { $0.tree.publishing = [] }
            throw error
        }
    }

    /// Makes a commit of the collected changes; the caller keeps other threads from committing the index.
    ///
    /// The slow part runs without the vault's lock, so that programs continue.
    private func commit(
        _ changes: CollectedChanges, _ contents: [Int64: Fact.Content], as participant: Participant,
        _ recorder: any CommitRecorder
    ) throws(FileSystemError) -> FactCommit? {
        defer { vault.state.update { $0.factsAreLent = false } }
        let (tree, items) = try vault.changing { state throws(FileSystemError) in
            defer { state.tree.publishing = [] }
            state.factsAreLent = true
            return try self.begin(changes, contents, as: participant, recorder, &state)
        }
        let facts = tree.store
        do throws(FileSystemError) {
            let hash = facts.stateHash()
            var collector = ChangeCollector(tree, of: vault)
            facts.lock = vault.state
            defer { facts.lock = nil }
            let commit = try collect(changes.records, items, &collector)
            let rows = try commit.map { commit throws(FileSystemError) in
                try sealing { () throws(SealingError) in try recorder.record(commit, stateHash: hash) }
            }
            facts.lock = nil
            try vault.changing { state throws(FileSystemError) in
                try state.tree.keep(rows ?? [])
                for item in collector.left { try state.tree.giveBack(item) }
                for number in Set(changes.items).union(changes.made) { try state.tree.markUnsent(number) }
                if let row = changes.lastRow { try state.index.removeJournal(upTo: row) }
                try facts.flush()
            }
            return commit
        } catch {
            if facts.hasWritten {
                vault.stop("a change failed half-way (\(error.summary))")
            } else {
                try vault.changing { state throws(FileSystemError) in
                    for item in items { try state.tree.giveBack(item) }
                }
            }
            throw error
        }
    }

    /// Begins a commit, and takes the changes that it will contain from the items.
    private func begin(
        _ changes: CollectedChanges, _ contents: [Int64: Fact.Content], as participant: Participant,
        _ recorder: any CommitRecorder, _ state: inout VaultState
    ) throws(FileSystemError) -> (FactTree<IndexFactStore>, [UnsentItem]) {
        var tree = try state.factTree(participant.hashKey)
        try sealing { () throws(SealingError) in try recorder.check(tree.store.versions()) }
        let count = contents.values.reduce(changes.records.count + changes.items.count) {
            $0 + $1.bytes.count / VaultState.byteCountPerFact
        }
        try state.space.ensure(for: (count + 1) * VaultState.byteCountPerFact)
        let now = participant.milliseconds()
        tree.store.hasWritten = false
        try tree.beginCommit(log: participant.log, milliseconds: now, label: participant.label)
        let items = try state.tree.takeUnsent(changes.items, contents)
        return (tree, items)
    }

    /// Turns changes into facts, without the vault's lock.
    private func collect(
        _ records: [JournalRecord], _ items: [UnsentItem], _ collector: inout ChangeCollector
    ) throws(FileSystemError) -> FactCommit? {
        for record in records { try collector.perform(record) }
        for item in items { try collector.send(item) }
        for misfit in collector.misfits {
            vault.problems.add(
                "A local change does not match the facts of the vault, and was not sent: \(misfit).")
        }
        let commit = try collector.tree.finishCommit()
        // The tree of the index already has these changes.
        while try !collector.tree.takeChanges(limit: 1000).isEmpty {}
        try collector.tree.store.flush()
        return commit
    }

    /// Makes a commit of facts that no local change brought; without facts, it only states what was applied.
    func commit(
        _ facts: [Fact], as participant: Participant, _ recorder: any CommitRecorder,
        _ state: inout VaultState
    ) throws(FileSystemError) -> FactCommit {
        var tree = try state.factTree(participant.hashKey)
        let versions = tree.store.versions()
        try sealing { () throws(SealingError) in try recorder.check(versions) }
        let hash = tree.store.stateHash()
        let dot = Dot(log: participant.log, sequence: versions[participant.log] + 1)
        let clock = Stamp.clock(milliseconds: participant.milliseconds(), after: tree.store.clock())
        let commit = FactCommit(
            stamp: Stamp(clock: clock, dot: dot), versions: versions,
            label: dot.sequence == 1 ? participant.label : nil, facts: facts)
        let rows = try sealing { () throws(SealingError) in try recorder.record(commit, stateHash: hash) }
        try state.tree.keep(rows)
        _ = try tree.apply(commit)
        try state.facts?.flush()
        return commit
    }
}

/// Runs calls of a commit recorder and turns their errors into the vault's.
func sealing<Result>(
    _ body: () throws(SealingError) -> Result
) throws(FileSystemError) -> Result {
    do throws(SealingError) { return try body() } catch { throw .notSealed(error) }
}
