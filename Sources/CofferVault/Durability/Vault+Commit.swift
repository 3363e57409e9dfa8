internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Making changes last.
extension Vault {
    /// Sealed bytes in the tail up to which a commit puts them into rows, so that one flush does for all.
    private static let inlineByteCountMax = 64 << 10
    /// Frames of the index's log (4 KiB each) from which on it is moved into the database.
    private static let logFrameCountMax = 2048
    /// Frames that a commit moves by itself, to start the log from the beginning.
    private static let lastFrameCountMax = 256

    /// Returns once everything that was changed before is on disk.
    ///
    /// As fsync(2), for all of the vault. Small changes of files that are there already go into the intent
    /// log, all others make it a commit of the index.
    ///
    /// - Parameter usingReserve: Whether the reserve of disk space may be used for anything, not only for removals: at
    ///   the end of a mount.
    package func commit(usingReserve: Bool = false) throws(FileSystemError) {
        try committing.withLock { intents throws(FileSystemError) in
            if try recordChanges(in: intents) { return }
            try commitAlone(intents, usingReserve: usingReserve)
        }
    }

    /// Returns once everything that was changed before is in the index, and that is on disk.
    ///
    /// Order: packs to disk, then the commit to the log, then the log to disk; only the middle step holds
    /// the vault's lock.
    func commitIndex(usingReserve: Bool = false) throws(FileSystemError) {
        try committing.withLock { intents throws(FileSystemError) in
            try commitAlone(intents, usingReserve: usingReserve)
        }
    }

    /// Bytes that a commit would have to bring to disk, about.
    package var unsyncedByteCount: Int {
        state.withLock { $0.packs.unsyncedByteCount }
    }

    /// Where a full disk keeps a removal from being committed, the reserve makes room for it.
    ///
    /// - Parameter body: Runs right behind the commit, with the vault's lock; if given, there is a commit in
    ///   any case.
    func commitAlone(
        _ intents: IntentLog, usingReserve: Bool = false,
        then body: ((VaultState) throws(FileSystemError) -> Void)? = nil
    ) throws(FileSystemError) {
        var rest = body
        func runOnce(_ state: VaultState) throws(FileSystemError) {
            try rest?(state)
            rest = nil
        }
        var isDone = false
        while !isDone {
            do throws(FileSystemError) {
                try tryCommit(intents, then: rest == nil ? nil : runOnce)
                isDone = true
            } catch {
                guard case .noSpace = error, let reserve = reserve.withLock({ $0 }),
                    usingReserve || state.withLock({ $0.removes || $0.dead.removes }), reserve.release()
                else { throw error }
            }
        }
        reserve.withLock { $0 }?.restore()
    }

    private func tryCommit(
        _ intents: IntentLog, then body: ((VaultState) throws(FileSystemError) -> Void)?
    ) throws(FileSystemError) {
        let (hasChanges, stopped, base) = state.withLock { ($0.hasChanges, $0.stopped, $0.index.base) }
        if let stopped { throw .store(.stopped(reason: stopped)) }
        guard hasChanges || body != nil else {
            if !log.isWritten || intents.base != base { try syncLog(for: intents) }
            giveBack()
            return
        }
        intents.suspend()
        try syncPacks()
        do throws(FileSystemError) {
            try state.withLock { state throws(FileSystemError) in
                try commit(state)
                try body?(state)
            }
        } catch {
            // Without room for the tail nothing was committed, and nothing is lost: the next commit tries
            // again. After any other failure the transaction may not be what it should be.
            if case .noSpace = error { throw error }
            stop(error.summary)
            throw error
        }
        try syncLog(for: intents)
        noteUpkeep(hasDiscards: giveBack())
    }

    /// Brings the committed part of the log to disk; if that fails for another reason than space, nobody
    /// may be told any more that something is on disk.
    private func syncLog(for intents: IntentLog) throws(FileSystemError) {
        do throws(StoreError) {
            try log.sync()
        } catch {
            if case .noSpace = error { throw .noSpace }
            stop("\(error)")
            throw .store(error)
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

    /// Stores counters that are ahead of the numbers to come, before the first of them is given away.
    ///
    /// Where there is no room for that there is none for new items, and the first commit does it. A vault that
    /// has stopped gives none away, and what is half-done in it must not be committed.
    func reserveNumbers() {
        do throws(FileSystemError) {
            try committing.withLock { intents throws(FileSystemError) in
                let isCommitted = try storing { () throws(StoreError) in
                    try state.withLock { state throws(StoreError) in
                        noticeRollback(state)
                        guard state.stopped == nil else { return false }
                        try state.index.commit()
                        return true
                    }
                }
                if isCommitted { try syncLog(for: intents) }
            }
        } catch {
            problems.add("Numbers of new files could not be reserved: \(error.summary)")
            if case .noSpace = error { return }
            stop(error.summary)
        }
    }

    /// The part that needs the lock.
    private func commit(_ state: VaultState) throws(FileSystemError) {
        state.noticeRollback()
        if let reason = state.stopped { throw .store(.stopped(reason: reason)) }
        if state.packs.isSynced, state.packs.pendingByteCount <= Self.inlineByteCountMax {
            try state.storeItems()
            try moveTailIntoRows(state)
        } else {
            try storing { () throws(StoreError) in
                try state.packs.writeTail()
                try writer.finish()
                state.packs.noteWritten()
                guard state.packs.inFlightCount == 0 else {
                    throw .stopped(reason: "not all content came to the disk")
                }
            }
            try state.storeItems()
            do throws(StoreError) {
                try state.packs.takeDirtyFiles().sync()
            } catch {
                throw .store(error)
            }
        }
        let removed = try storing { () throws(StoreError) in
            let removed = try state.packs.storeRows(in: state.index)
            try state.index.commit(restartingLog: state.logIsNearlyMoved)
            return removed
        }
        state.intents = PendingIntents()
        state.logIsNearlyMoved = false
        // Kept until the log is on disk, which may take several tries when that is full.
        state.dead.packs += removed
        state.dead.discards += state.discards
        state.discards = []
        state.dead.removes = state.dead.removes || state.removes
        state.removes = false
    }

    /// Brings the bulk of what was appended to disk before the lock is taken.
    private func syncPacks() throws(FileSystemError) {
        let isSmall = state.withLock {
            $0.packs.isSynced && $0.packs.pendingByteCount <= Self.inlineByteCountMax
        }
        if isSmall { return }
        do throws(StoreError) {
            try state.withLock { state throws(StoreError) in try state.packs.writeTail() }
            try writer.finish()
            let dirty = try state.withLock { state throws(StoreError) in
                state.packs.noteWritten()
                return try state.packs.takeDirtyFiles()
            }
            try dirty.sync()
        } catch {
            if case .noSpace = error { throw .noSpace }
            stop("\(error)")
            throw .store(error)
        }
    }

    /// Moves the index's log into the database once it is long, without keeping the writer waiting.
    func moveLog() throws(FileSystemError) {
        let isDue = state.withLock { $0.stopped == nil && $0.index.logFrameCount >= Self.logFrameCountMax }
        guard isDue else { return }
        let rest = try storing { () throws(StoreError) in try log.checkpoint() }
        if rest <= Self.lastFrameCountMax { state.withLock { $0.logIsNearlyMoved = true } }
    }

    /// Puts the extents of the tail into rows of the index.
    private func moveTailIntoRows(_ state: VaultState) throws(FileSystemError) {
        for extent in state.packs.pending {
            let rows = try storing { () throws(StoreError) in
                try state.index.extents(
                    of: extent.item, overlapping: extent.base..<extent.base + extent.total)
            }.filter { $0.place == .pack(extent.pack, position: extent.position) }
            let live = rows.reduce(0) { $0 + $1.length }
            guard live > 0 else { continue }
            let sealed = state.packs.bytes(of: extent)
            try storing { () throws(StoreError) in
                let number = try state.index.insertContent(sealed, live: live)
                for row in rows {
                    var moved = row
                    moved.place = .row(number)
                    try state.index.remove(row)
                    try state.index.insert(moved)
                }
            }
            state.packs.addLive(-live, to: extent.pack)
        }
        state.packs.dropTail()
    }

    /// Gives disk space back that no committed row refers to; the log must be on disk.
    ///
    /// - Returns: Whether there were pieces of packs.
    @discardableResult
    private func giveBack() -> Bool {
        let dead = state.withLock { state in
            defer { state.dead = VaultState.Dead() }
            return state.dead
        }
        for discard in dead.discards {
            let file = state.withLock { try? $0.packs.openFile(discard.pack) }
            file?.discard(at: discard.position, count: discard.count)
        }
        for pack in dead.packs {
            do throws(StoreError) {
                try state.withLock { state throws(StoreError) in try state.packs.removeFile(pack) }
            } catch {
                problems.add("Pack \(pack) could not be removed: \(error)")
            }
        }
        return !dead.discards.isEmpty
    }

    /// Stops all writing: what was committed stays readable, nothing that may be wrong is committed.
    func stop(_ reason: String) {
        let isNew = state.withLock { state in
            defer {
                state.stopped = state.stopped ?? reason
                noticeRollback(state)
            }
            return state.stopped == nil
        }
        if isNew { problems.add("The vault can only be read until it is mounted anew: \(reason)") }
    }

    /// Commits everything and closes the store.
    ///
    /// The vault is not to be used afterwards: if closing fails, nothing is written any more.
    package func close() throws(FileSystemError) {
        do throws(FileSystemError) {
            try closeStore()
        } catch {
            stop("it could not be closed (\(error.summary))")
            throw error
        }
    }

    private func closeStore() throws(FileSystemError) {
        remoteReads.stop()
        packFillers.stop()
        readAhead.stop()
        upkeep.stop()
        defer { writer.stop() }
        if isReadOnly {
            return try storing { () throws(StoreError) in
                try state.withLock { state throws(StoreError) in try state.index.closeUnchanged() }
            }
        }
        let (isStopped, hasChanges) = state.withLock { ($0.stopped != nil, $0.hasChanges) }
        if isStopped { return }
        try commitIndex(usingReserve: true)
        try changing { state throws(FileSystemError) in
            for number in state.orphans {
                let item = try state.item(number)
                // A large one takes its time: the next mount goes on with it.
                if item.row.allocated <= Self.eraseAtOnceMax { try erase(item, state) }
            }
        }
        try commitIndex(usingReserve: true)
        do throws(StoreError) {
            try state.withLock { state throws(StoreError) in try state.index.close() }
        } catch {
            // The next mount moves what is in the log.
            if case .noSpace = error, log.isWritten { return }
            // What was committed is in the log. An index with damage that somebody met may not get further.
            if case .damaged = error, !hasChanges { return }
            throw FileSystemError(error)
        }
        committing.withLock { $0.remove() }
    }
}
