package import CofferFormat
internal import CofferStore
internal import CofferSystem

extension Outgoing {
    /// The number of journal rows that are counted.
    private static let journalRowsMax = 256

    /// The number of items and changes of names that are in no commit, as of the last commit of the index; 0
    /// without a remote.
    ///
    /// If there are very many changes of names, counts only the first ones.
    package func unsentCount() throws(FileSystemError) -> Int {
        guard vault.isTracking else { return 0 }
        let reader = try vault.state.withLock { state throws(FileSystemError) in try state.index.makeReader()
        }
        let records = try reader.journal(limit: Self.journalRowsMax).reduce(0) { sum, record in
            sum + ((try? unsafe JournalRecord.records(record.span.bytes).count) ?? 0)
        }
        return try reader.unsentCount() + records
    }

    /// The number of content bytes that the remote does not have, as of the last commit.
    ///
    /// Scans all ranges of all files, but without the vault's lock.
    package func unsentByteCount() throws(FileSystemError) -> Int64 {
        guard vault.isTracking else { return 0 }
        return try vault.state.withLock { state throws(FileSystemError) in try state.index.makeReader() }
            .unsentByteCount()
    }
}
