package import CofferFormat

// Starting to record changes for a remote (docs/format.md, "Journal").
extension Index {
    /// The number of the journal's first record of a change; lower records describe what existed before.
    package static let firstChangeNumber: Int64 = 1 << 40
    /// The number of the record that ends those of what existed before.
    private static let lastFoundNumber = firstChangeNumber - 1

    /// Whether changes of names are recorded.
    package enum Tracking: Sendable {
        /// They are not: there is no remote.
        case off
        /// They go into the journal; it does not yet contain everything that existed before.
        case begun
        /// They go into the journal.
        case on
    }

    /// Whether changes of names are recorded.
    package func tracking() throws(FileSystemError) -> Tracking {
        guard hasFacts else { return .off }
        if try factState().journal >= Self.lastFoundNumber { return .on }
        let last = try journal(after: Self.lastFoundNumber - 1, limit: 1).first
        return last?.number == Self.lastFoundNumber ? .on : .begun
    }

    /// Starts the journal, in the open transaction; drops the records of an earlier attempt.
    package func beginTracking() throws(FileSystemError) {
        try addFacts()
        try removeJournal(upTo: .max - 1)
        try removeUnsent(upTo: .max)
        let state = try factState()
        if state.journal != 0 {
            var anew = state
            anew.journal = 0
            try putFactState(anew, replacing: state)
        }
        nextJournalNumber = Self.firstChangeNumber
    }

    /// Appends a record of something that existed before changes were recorded.
    ///
    /// - Parameter number: From 1 on, ascending.
    package func appendFound(_ record: [UInt8], _ number: Int64) throws(FileSystemError) {
        precondition(number < Self.lastFoundNumber)
        try insert(JournalRow(number: number, record: record))
    }

    /// Ends the records of what existed before; if there are none, no record stays.
    package func endFound() throws(FileSystemError) {
        let first = try journal(after: 0, limit: 1).first
        try insert(JournalRow(number: Self.lastFoundNumber, record: []))
        // A device that may not send makes no commit that would remove the record.
        guard (first?.number ?? .max) > Self.lastFoundNumber else { return }
        try removeJournal(upTo: Self.lastFoundNumber)
    }

    private func insert(_ row: JournalRow) throws(FileSystemError) {
        _ = try put(
            .journal, factStatements[.append], replacing: nil, { row.write(to: &$0) }, { row.write(to: &$0) })
    }
}
