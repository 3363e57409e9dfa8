internal import CofferFormat
internal import CofferStore
internal import CofferSystem

extension Vault {
    /// Rows of the journal that are looked into.
    private static let journalRowsMax = 256

    /// Items and changes of names that no commit has, as of the last commit of the index; 0 without a remote.
    ///
    /// Of very many changes of names it counts the first ones only.
    package func unsentCount() throws(FileSystemError) -> Int {
        guard isTracking else { return 0 }
        return try storing { () throws(StoreError) in
            let reader = try state.withLock { state throws(StoreError) in try state.index.makeReader() }
            let records = try reader.journal(limit: Self.journalRowsMax).reduce(0) { sum, record in
                sum + ((try? unsafe JournalRecord.records(record.span.bytes).count) ?? 0)
            }
            return try reader.unsentCount() + records
        }
    }

    /// Bytes of contents that the remote does not have, as of the last commit.
    ///
    /// Goes through all ranges of all files, but without the vault's lock.
    package func unsentByteCount() throws(FileSystemError) -> Int64 {
        guard isTracking else { return 0 }
        return try storing { () throws(StoreError) in
            try state.withLock { state throws(StoreError) in try state.index.makeReader() }.unsentByteCount()
        }
    }
}
