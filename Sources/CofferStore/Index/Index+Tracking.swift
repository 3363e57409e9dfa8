// How it begins that changes are kept for a remote (docs/format.md, "Journal").
extension Index {
    /// The number of the journal's first record about a change; those below tell what was there before.
    package static let firstChangeNumber: Int64 = 1 << 40
    /// The number of the record that ends those about what was there before.
    private static let lastFoundNumber = firstChangeNumber - 1

    /// What becomes of changes of names.
    package enum Tracking: Sendable {
        /// Nothing: there is no remote.
        case off
        /// They go into the journal; what was there before is not all in it yet.
        case begun
        /// They go into the journal.
        case on
    }

    /// What becomes of changes of names.
    package func tracking() throws(StoreError) -> Tracking {
        guard hasFacts else { return .off }
        if try factState().journal >= Self.lastFoundNumber { return .on }
        let last = try journal(after: Self.lastFoundNumber - 1, limit: 1).first
        return last?.number == Self.lastFoundNumber ? .on : .begun
    }

    /// Begins the journal, in the open transaction; what it had of an earlier try is dropped.
    package func beginTracking() throws(StoreError) {
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

    /// Appends a record about what was there before changes were kept.
    ///
    /// - Parameter number: From 1 on, ascending.
    package func appendFound(_ record: [UInt8], _ number: Int64) throws(StoreError) {
        precondition(number < Self.lastFoundNumber)
        try insert(JournalRow(number: number, record: record))
    }

    /// Ends the records about what was there before; if there was nothing, none stays.
    package func endFound() throws(StoreError) {
        let first = try journal(after: 0, limit: 1).first
        try insert(JournalRow(number: Self.lastFoundNumber, record: []))
        // Who may send nothing makes no commit that would take it away.
        guard (first?.number ?? .max) > Self.lastFoundNumber else { return }
        try removeJournal(upTo: Self.lastFoundNumber)
    }

    private func insert(_ row: JournalRow) throws(StoreError) {
        _ = try put(
            .journal, factStatements[.append], replacing: nil, { row.write(to: &$0) }, { row.write(to: &$0) })
    }
}
