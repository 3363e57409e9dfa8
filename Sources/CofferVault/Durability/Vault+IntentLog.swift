internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Making small changes durable without a commit of the index, and replaying them after a crash.
extension Vault {
    /// Appends the changes since the last record or commit to the intent log.
    ///
    /// - Returns: Whether everything is on disk now; if not, the index must be committed.
    func recordChanges(in intents: IntentLog) throws(FileSystemError) -> Bool {
        guard intents.isReady else { return false }
        var writer = intents.makeWriter()
        let isWhole = state.withLock { state in
            state.noticeRollback()
            guard state.stopped == nil, state.isLoggable, state.fill(&writer) else { return false }
            state.tree.intents.clear()
            return true
        }
        guard isWhole else { return false }
        if writer.isEmpty { return true }
        do throws(FileSystemError) {
            return try intents.append(writer)
        } catch {
            stop(error.summary)
            throw error
        }
    }

    /// Applies the records that a crash left in the intent log to the index, and commits.
    ///
    /// A read-only mount shows their changes, and leaves the records in place.
    func replay(_ intents: IntentLog) throws(FileSystemError) {
        var records = try intents.records(on: state.withLock { $0.index.base })
        var count = 0
        while let body = try records.next() {
            do throws(FileSystemError) {
                guard try state.withLock({ state throws(FileSystemError) in try applyRecord(body, &state) })
                else {
                    problems.add(
                        """
                        The intent log does not match the index: changes of the last second before the vault \
                        was last closed were dropped.
                        """)
                    break
                }
                count += 1
            } catch {
                return stop("the intent log could not be replayed (\(error.summary))")
            }
        }
        let dropped = try records.countRest()
        if dropped > 0 {
            problems.add(
                """
                \(dropped) records of the latest changes were dropped, as the intent log is damaged before \
                them. If the machine lost power, they were not on disk yet; otherwise they are lost.
                """)
        }
        guard count > 0, !isReadOnly else { return }
        upkeep.noteChanges(isUrgent: false)
        do throws(FileSystemError) {
            try commitAlone(intents)
        } catch {
            // The records stay until a commit is on disk. If the disk is full, the next commit tries again;
            // after any other failure, the vault has stopped and has reported that.
        }
    }

    /// Applies a record.
    ///
    /// - Returns: False, with nothing changed, if the record does not fit the index.
    private func applyRecord(_ body: [UInt8], _ state: inout VaultState) throws(FileSystemError) -> Bool {
        guard let record = unsafe try? IntentRecord(body.span.bytes),
            let rows = try rows(of: record, body, &state)
        else { return false }
        for (write, sealed) in record.writes {
            let item = try state.tree.item(write.item)
            let end = write.offset + Int64(write.length)
            try state.removeContent(of: item, write.offset..<end)
            try state.keepHoles(in: write.offset..<end, of: item)
            let place = try state.index.insertContent(Array(body[sealed]), live: Int64(write.length))
            try state.index.insert(
                ExtentRow(
                    item: write.item, offset: write.offset, length: Int64(write.length),
                    place: .row(place), prefix: .init(low: write.prefixLow, high: write.prefixHigh),
                    epoch: write.epoch))
            item.row.allocated += Int64(write.length)
            if write.length < Compaction.smallByteCount, write.offset > 0 {
                state.fragmented.insert(write.item)
            }
        }
        for row in rows {
            let item = try state.tree.item(row.number)
            if item.type == .regular {
                try state.removeContent(of: item, row.size..<Int64.max)
                try state.keepHoles(in: row.size..<Int64.max, of: item)
            }
            let allocated = item.row.allocated
            item.row = row
            item.row.allocated = allocated
            state.tree.touch(item, [])
        }
        return true
    }

    /// The rows of a record; nil if it contains something that no write could have done.
    private func rows(
        of record: IntentRecord, _ body: [UInt8], _ state: inout VaultState
    ) throws(FileSystemError) -> [ItemRow]? {
        var rows: [Int64: ItemRow] = [:]
        for range in record.rows {
            guard let row = unsafe try? ItemRow(fields: body.span.bytes.extracting(range)),
                let old = try state.tree.row(row.number),
                row.isSuccessor(of: old), rows.updateValue(row, forKey: row.number) == nil
            else { return nil }
        }
        for (write, _) in record.writes {
            guard let row = rows[write.item], FileType(mode: row.mode) == .regular,
                write.offset <= row.size - Int64(write.length), keys.has(write.epoch)
            else { return nil }
        }
        return Array(rows.values)
    }
}

extension ItemRow {
    /// Whether writes and attribute changes alone may have led to this item.
    fileprivate func isSuccessor(of old: ItemRow) -> Bool {
        var expected = old
        expected.mode = old.mode & ~ModeBits.permissions | mode & ModeBits.permissions
        expected.user = user
        expected.group = group
        expected.allocated = allocated
        expected.accessed = accessed
        expected.modified = modified
        expected.changed = changed
        expected.unsent = unsent
        if FileType(mode: old.mode) == .regular, 0...Vault.fileByteCountMax ~= size { expected.size = size }
        return self == expected
    }
}
