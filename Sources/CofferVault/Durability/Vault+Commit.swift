package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Making changes durable.
extension Vault {
    /// The number of sealed bytes in the tail up to which a commit puts them into rows, so that one flush
    /// suffices.
    private static let inlineByteCountMax = 64 << 10
    /// The number of frames in the write-ahead log (4 KiB each) from which it is moved into the database.
    private static let logFrameCountMax = 2048
    /// The number of frames that a commit moves by itself, to restart the log from its beginning.
    private static let lastFrameCountMax = 256

    /// Makes all earlier changes durable before it returns.
    ///
    /// Behaves like fsync(2) for the whole vault. Small changes of existing files go into the intent log; all
    /// others require a commit of the index.
    ///
    /// - Parameter usingReserve: Whether the reserve of disk space may be used for any change, not only for
    ///   removals; for the end of a mount.
    package func commit(usingReserve: Bool = false) throws(FileSystemError) {
        let timer = LogTimer(.debug)
        try committing.withLock { intents throws(FileSystemError) in
            DebugLog.waited(for: .lock, timer)
            if try recordChanges(in: intents) {
                problems.remove(about: .storing(id))
                return
            }
            try commitAlone(intents, usingReserve: usingReserve)
        }
    }

    /// Commits all earlier changes to the index, and returns once that is on disk.
    ///
    /// The order is: sync packs, commit to the log, sync the log. Only the middle step holds the vault's
    /// lock.
    func commitIndex(usingReserve: Bool = false) throws(FileSystemError) {
        let timer = LogTimer(.debug)
        try committing.withLock { intents throws(FileSystemError) in
            DebugLog.waited(for: .lock, timer)
            try commitAlone(intents, usingReserve: usingReserve)
        }
    }

    /// The approximate number of bytes that a commit would have to write to disk.
    package var unsyncedByteCount: Int {
        state.withLock { $0.packs.unsyncedByteCount }
    }

    /// Commits; if a full disk prevents the commit of a removal, releases the reserve and tries again.
    ///
    /// - Parameter body: Runs directly after the commit, under the vault's lock; if it is given, there is
    ///   always a commit.
    func commitAlone(
        _ intents: IntentLog, usingReserve: Bool = false,
        then body: ((inout VaultState) throws(FileSystemError) -> Void)? = nil
    ) throws(FileSystemError) {
        var rest = body
        func runOnce(_ state: inout VaultState) throws(FileSystemError) {
            try rest?(&state)
            rest = nil
        }
        var isDone = false
        while !isDone {
            do throws(FileSystemError) {
                try tryCommit(intents, then: rest == nil ? nil : runOnce)
                isDone = true
            } catch {
                guard case .noSpace = error, let reserve = reserve.withLock({ $0 }),
                    usingReserve || state.withLock({ $0.tree.removes || $0.dead.removes }), reserve.release()
                else { throw error }
            }
        }
        problems.remove(about: .storing(id))
        reserve.withLock { $0 }?.restore()
    }

    private func tryCommit(
        _ intents: IntentLog, then body: ((inout VaultState) throws(FileSystemError) -> Void)?
    ) throws(FileSystemError) {
        let (hasChanges, stopped, base) = state.withLock { ($0.hasChanges, $0.stopped, $0.index.base) }
        if let stopped { throw .stopped(reason: stopped) }
        guard hasChanges || body != nil else {
            if !log.isWritten || intents.base != base { try syncLog(for: intents) }
            giveBack()
            return
        }
        let timer = LogTimer(.debug)
        intents.suspend()
        bringPagesOfCommit()
        try syncPacks()
        do throws(FileSystemError) {
            try state.withLock { state throws(FileSystemError) in
                try commit(&state)
                try body?(&state)
            }
        } catch {
            // If there is no room for the tail, nothing was committed and nothing is lost: the next commit
            // tries again. After any other failure, the transaction may be wrong.
            if case .noSpace = error { throw error }
            stop(error.summary)
            throw error
        }
        try syncLog(for: intents)
        DebugLog.log(
            .debug, .commit,
            "vault \(id: id.high): a commit, \(timer), \(state.withLock { $0.index.logFrameCount }) frames in the log"
        )
        noteUpkeep(hasDiscards: giveBack())
    }

    /// Syncs the committed part of the log.
    ///
    /// If that fails for any reason except lack of space, the vault stops: it must not report anything as
    /// durable any more.
    private func syncLog(for intents: IntentLog) throws(FileSystemError) {
        do throws(FileSystemError) {
            try DebugLog.waiting(for: .disk) { () throws(FileSystemError) in try log.sync() }
        } catch {
            if case .noSpace = error { throw error }
            stop(error.summary)
            throw error
        }
        intents.begin(on: state.withLock { $0.index.base })
    }

    private func noteUpkeep(hasDiscards: Bool) {
        let (isLong, hasWork) = state.withLock { state in
            let isDead = state.deadByteCount >= Compaction.deadByteCountMin
            if isDead { state.deadByteCount = 0 }
            return (state.index.logFrameCount >= Self.logFrameCountMax, isDead || !state.fragmented.isEmpty)
        }
        if isLong || hasWork || hasDiscards { upkeep.noteUpkeep(isUrgent: isLong) }
    }

    /// Stores counters that are ahead of the next numbers, before the first of those is assigned.
    ///
    /// If there is no room for that, there is none for new items either, and the first commit does it. A
    /// stopped vault assigns no numbers, and must not commit half-finished changes.
    func reserveNumbers() {
        do throws(FileSystemError) {
            try committing.withLock { intents throws(FileSystemError) in
                let isCommitted = try state.withLock { state throws(FileSystemError) in
                    state.noticeRollback()
                    guard state.stopped == nil else { return false }
                    try state.index.commit()
                    return true
                }
                if isCommitted { try syncLog(for: intents) }
            }
        } catch {
            problems.add(
                "No new files can be created until the profile's disk can be written: \(error.summary)",
                about: .storing(id))
            if case .noSpace = error { return }
            stop(error.summary)
        }
    }

    /// The part of a commit that needs the lock.
    private func commit(_ state: inout VaultState) throws(FileSystemError) {
        state.noticeRollback()
        if let reason = state.stopped { throw .stopped(reason: reason) }
        if state.packs.isSynced, state.packs.pendingByteCount <= Self.inlineByteCountMax {
            try state.tree.storeItems()
            try state.moveTailIntoRows()
        } else {
            try state.packs.writeTail()
            try writer.finish()
            state.packs.noteWritten()
            guard state.packs.inFlightCount == 0 else {
                throw .stopped(reason: "some content was not written to the disk")
            }
            try state.tree.storeItems()
            try state.packs.takeDirtyFiles().sync()
        }
        let removed = try state.packs.storeRows(in: state.index)
        try state.index.commit(restartingLog: state.logIsNearlyMoved)
        state.tree.intents = PendingIntents()
        let numbers = state.index.nextNumbers
        state.tree.history?.noteCommit(numbers, at: Clock.realTime)
        state.logIsNearlyMoved = false
        // Kept until the log is on disk, which may take several tries on a full disk.
        state.dead.packs += removed
        state.dead.discards += state.discards
        state.discards = []
        state.unfreedByteCount = 0
        state.dead.removes = state.dead.removes || state.tree.removes
        state.tree.removes = false
    }

    /// Writes most of the appended bytes to disk before the lock is taken.
    private func syncPacks() throws(FileSystemError) {
        let isSmall = state.withLock {
            $0.packs.isSynced && $0.packs.pendingByteCount <= Self.inlineByteCountMax
        }
        if isSmall { return }
        do throws(FileSystemError) {
            try state.withLock { state throws(FileSystemError) in try state.packs.writeTail() }
            try writer.finish()
            let dirty = try state.withLock { state throws(FileSystemError) in
                state.packs.noteWritten()
                return try state.packs.takeDirtyFiles()
            }
            let timer = LogTimer(.debug)
            try dirty.sync()
            DebugLog.waited(for: .disk, timer)
            DebugLog.log(.debug, .commit, "vault \(id: id.high): packs flushed, \(timer)")
        } catch {
            if case .noSpace = error { throw error }
            stop(error.summary)
            throw error
        }
    }

    /// Moves a long write-ahead log into the database, without blocking writers.
    func moveLog() throws(FileSystemError) {
        let isDue = state.withLock { $0.stopped == nil && $0.index.logFrameCount >= Self.logFrameCountMax }
        guard isDue else { return }
        let rest = try log.checkpoint()
        if rest <= Self.lastFrameCountMax { state.withLock { $0.logIsNearlyMoved = true } }
    }

    /// Frees disk space that no committed row refers to; the log must be on disk.
    ///
    /// - Returns: Whether pieces of packs were freed.
    @discardableResult
    private func giveBack() -> Bool {
        let dead = state.withLock { state in
            defer { state.dead = VaultState.Dead() }
            return state.dead
        }
        for discard in Self.joined(dead.discards) {
            // Packs without rows are removed as a whole.
            let file = state.withLock { state in
                state.packs.id(of: discard.pack) == nil ? nil : try? state.packs.openFile(discard.pack)
            }
            file?.discard(at: discard.position, count: discard.count)
        }
        for pack in dead.packs {
            do throws(FileSystemError) {
                try state.withLock { state throws(FileSystemError) in try state.packs.removeFile(pack) }
            } catch {
                problems.add("Pack \(pack) could not be removed: \(error.summary)")
            }
        }
        return !dead.discards.isEmpty
    }

    /// The same bytes in as few pieces as possible: a block shares pages with its neighbours.
    private static func joined(_ discards: [VaultState.Discard]) -> [VaultState.Discard] {
        var joined: [VaultState.Discard] = []
        for discard in discards.sorted(by: { ($0.pack, $0.position) < ($1.pack, $1.position) }) {
            if let last = joined.last, last.pack == discard.pack, last.end == discard.position {
                joined[joined.count - 1].count += discard.count
            } else {
                joined.append(discard)
            }
        }
        return joined
    }

    /// Stops all writing: committed data stays readable, and nothing that may be wrong is committed.
    func stop(_ reason: String) {
        let isNew = state.withLock { state in
            defer {
                state.stopped = state.stopped ?? reason
                state.noticeRollback()
            }
            return state.stopped == nil
        }
        if isNew { problems.add("The vault is read-only until remounted: \(reason)") }
    }

    /// Commits everything and closes the store.
    ///
    /// Do not use the vault afterwards: if closing fails, it does not write anything any more.
    ///
    /// - Parameter inUse: The items that programs go on using, which stay even if they have no name.
    package func close(keeping inUse: Set<Int64> = []) throws(FileSystemError) {
        do throws(FileSystemError) {
            try closeStore(keeping: inUse)
        } catch {
            stop("it could not be closed (\(error.summary))")
            throw error
        }
    }

    /// Closes the store without a commit: nobody will open it again.
    package func abandon() {
        stop("it was given up")
        try? close()
    }

    private func closeStore(keeping inUse: Set<Int64>) throws(FileSystemError) {
        remoteReads.stop()
        packFillers.stop()
        readAhead.stop()
        waitingReads.stop()
        upkeep.stop()
        defer { writer.stop() }
        if isReadOnly {
            return try state.withLock { state throws(FileSystemError) in try state.index.closeUnchanged() }
        }
        let (isStopped, hasChanges) = state.withLock { ($0.stopped != nil, $0.hasChanges) }
        if isStopped { return }
        try commitIndex(usingReserve: true)
        try changing { state throws(FileSystemError) in
            for number in state.tree.orphans where !inUse.contains(number) {
                let item = try state.tree.item(number)
                // Removing a large item takes time; the next mount continues with it.
                if item.row.allocated <= Self.eraseAtOnceMax { try state.erase(item) }
            }
        }
        try commitIndex(usingReserve: true)
        do throws(FileSystemError) {
            try state.withLock { state throws(FileSystemError) in try state.index.close() }
        } catch {
            // The next mount moves the frames in the log.
            if case .noSpace = error, log.isWritten { return }
            // The log contains everything committed. Damage in the index may keep the log from being moved.
            if case .damaged = error, !hasChanges { return }
            throw error
        }
        committing.withLock { $0.remove() }
    }
}

extension VaultState {
    /// Moves the extents of the tail into rows of the index.
    fileprivate mutating func moveTailIntoRows() throws(FileSystemError) {
        for extent in packs.pending {
            let range = extent.base..<extent.base + extent.total
            let rows = try index.extents(of: extent.item, overlapping: range)
                .filter { $0.place == .pack(extent.pack, position: extent.position) }
            let live = rows.reduce(0) { $0 + $1.length }
            guard live > 0 else { continue }
            let sealed = packs.bytes(of: extent)
            let number = try index.insertContent(sealed, live: live)
            for row in rows {
                var moved = row
                moved.place = .row(number)
                try index.remove(row)
                try index.insert(moved)
            }
            packs.addLive(-live, to: extent.pack)
        }
        packs.dropTail()
    }
}
