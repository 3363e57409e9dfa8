package import CofferFormat

// Changes that a remote does not have yet; only for an index with the tables of facts.
extension IndexReader {
    /// The number of items with unsent changes, except for those that the journal makes.
    package func unsentCount() throws(FileSystemError) -> Int {
        Int(try database.prepare("SELECT count(*) FROM unsent").first({ _ in }, { $0.integer(0) }) ?? 0)
    }

    /// Bytes of contents of named files that are not on the remote.
    package func unsentByteCount() throws(FileSystemError) -> Int64 {
        let query = """
            SELECT coalesce(sum(length), 0) FROM extents JOIN items ON number = item WHERE remote = 0 AND links > 0
            """
        return try database.prepare(query).first({ _ in }, { $0.integer(0) }) ?? 0
    }

    /// The first rows of the journal.
    package func journal(limit: Int) throws(FileSystemError) -> [[UInt8]] {
        var records: [[UInt8]] = []
        try database.prepare("SELECT record FROM journal ORDER BY seq LIMIT ?").each(
            { $0.bind(1, Int64(limit)) },
            { row throws(FileSystemError) in
                records.append(row.bytes(0))
                return true
            })
        return records
    }
}
