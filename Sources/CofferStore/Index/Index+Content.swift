internal import CSQLite
package import CofferFormat

// Extents, small contents, and packs.
extension Index {
    /// The ranges of an item that overlap `range`, in order.
    package func extents(
        of item: Int64, overlapping range: Range<Int64>, limit: Int = .max
    ) throws(FileSystemError) -> [ExtentRow] {
        var rows: [ExtentRow] = []
        try statements[.extents].each(
            {
                $0.bind(1, item)
                $0.bind(2, range.lowerBound)
                $0.bind(3, range.upperBound)
            },
            { row throws(FileSystemError) in
                let extent = try Self.checked(ExtentRow(row))
                if extent.end > range.lowerBound { rows.append(extent) }
                return rows.count < limit
            })
        return rows
    }

    /// Ranges of any item after (`item`, `offset`), in the order of items and offsets.
    package func extents(after item: Int64, _ offset: Int64, limit: Int) throws(FileSystemError)
        -> [ExtentRow]
    {
        var rows: [ExtentRow] = []
        try statements[.extentsAfter].each(
            {
                $0.bind(1, item)
                $0.bind(2, offset)
                $0.bind(3, Int64(limit))
            },
            { row throws(FileSystemError) in
                rows.append(try Self.checked(ExtentRow(row)))
                return true
            })
        return rows
    }

    @inline(__always)
    private static func checked(_ row: ExtentRow) throws(FileSystemError) -> ExtentRow {
        guard row.isPossible else {
            throw .damaged(place: "the reference to content of item \(row.item) in the index")
        }
        return row
    }

    /// Stores a range, which must not overlap another.
    package func insert(_ row: ExtentRow) throws(FileSystemError) {
        try statements[.putExtent].run { row.bind(to: $0) }
        digest.add(.extents, digest.hash(.extents) { row.digest(into: &$0) })
        changes += 1
    }

    /// Removes a range, which must equal the stored one.
    package func remove(_ row: ExtentRow) throws(FileSystemError) {
        try statements[.removeExtent].run {
            $0.bind(1, row.item)
            $0.bind(2, row.offset)
        }
        digest.subtract(.extents, digest.hash(.extents) { row.digest(into: &$0) })
        changes += 1
    }

    /// Stores a small sealed extent in a row.
    ///
    /// - Parameter live: The number of its plaintext bytes that ranges refer to.
    /// - Returns: The row's number.
    package func insertContent(_ sealed: [UInt8], live: Int64) throws(FileSystemError) -> Int64 {
        try statements[.insertContent].run {
            $0.bind(1, live)
            $0.bind(2, sealed)
        }
        let number = database.lastInsertedRow
        digest.add(.contents, digest.content(number, live))
        changes += 1
        return number
    }

    /// The sealed extent in a row; nil if there is no such row.
    package func content(_ number: Int64) throws(FileSystemError) -> [UInt8]? {
        try statements[.content].first({ $0.bind(1, number) }, { $0.bytes(0) })
    }

    /// Changes the number of live bytes of a row; removes the row if none are left.
    package func addLive(_ difference: Int64, toContent number: Int64) throws(FileSystemError) {
        guard let old = try statements[.contentLive].first({ $0.bind(1, number) }, { $0.integer(0) }) else {
            throw .damaged(place: "row \(number) of the index's contents")
        }
        let (live, overflows) = old.addingReportingOverflow(difference)
        if overflows { throw .damaged(place: "row \(number) of the index's contents") }
        digest.subtract(.contents, digest.content(number, old))
        if live > 0 {
            try statements[.putContentLive].run {
                $0.bind(1, live)
                $0.bind(2, number)
            }
            digest.add(.contents, digest.content(number, live))
        } else {
            try statements[.removeContent].run { $0.bind(1, number) }
        }
        changes += 1
    }

    /// All packs.
    package func packs() throws(FileSystemError) -> [PackRow] {
        var rows: [PackRow] = []
        try statements[.packs].each(
            { _ in },
            { row throws(FileSystemError) in
                let pack = PackRow(row)
                guard pack.isPossible else {
                    throw .damaged(place: "the row of pack \(pack.number) in the index")
                }
                rows.append(pack)
                return true
            })
        return rows
    }

    /// A new number for a pack.
    package func nextPackNumber() -> Int64 {
        defer { counters.pack += 1 }
        return counters.pack
    }

    /// Stores a pack, replacing `old`.
    package func put(_ row: PackRow, replacing old: PackRow?) throws(FileSystemError) {
        try statements[.putPack].run { row.bind(to: $0) }
        if let old { digest.subtract(.packs, digest.hash(.packs) { old.digest(into: &$0) }) }
        digest.add(.packs, digest.hash(.packs) { row.digest(into: &$0) })
        changes += 1
    }

    /// Removes a pack, which must equal the stored one.
    package func remove(_ row: PackRow) throws(FileSystemError) {
        try statements[.removePack].run { $0.bind(1, row.number) }
        digest.subtract(.packs, digest.hash(.packs) { row.digest(into: &$0) })
        changes += 1
    }
}
