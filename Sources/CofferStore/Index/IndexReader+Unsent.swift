// What a remote does not have; only of an index with the tables of facts.
extension IndexReader {
    /// Items with something to be sent, but for those that the journal makes.
    package func unsentCount() throws(StoreError) -> Int {
        Int(try database.prepare("SELECT count(*) FROM unsent").first({ _ in }, { $0.integer(0) }) ?? 0)
    }

    /// The first rows of the journal.
    package func journal(limit: Int) throws(StoreError) -> [[UInt8]] {
        var records: [[UInt8]] = []
        try database.prepare("SELECT record FROM journal ORDER BY seq LIMIT ?").each(
            { $0.bind(1, Int64(limit)) },
            { row throws(StoreError) in
                records.append(row.bytes(0))
                return true
            })
        return records
    }
}
