package import CofferFormat

// Extents and pages that are on a remote.
extension Index {
    /// Records a sealed extent that is on a remote.
    ///
    /// - Parameter live: The bytes of ranges that refer to it.
    /// - Returns: The number of its row.
    package func insertRemoteExtent(_ place: SealedPlace, live: Int64) throws(FileSystemError) -> Int64 {
        try statements[.insertRemoteExtent].run {
            $0.bind(1, lastRemoteNumber)
            $0.bind(2, place.pack.bytes)
            $0.bind(3, Int64(place.position))
            $0.bind(4, place.hash.bytes)
            $0.bind(5, live)
        }
        let row = RemoteExtentRow(number: database.lastInsertedRow, place: place, live: live)
        lastRemoteNumber = row.number
        digest.add(.remoteExtents, hash(of: row))
        changes += 1
        return row.number
    }

    /// The place of a sealed extent on a remote.
    package func remoteExtent(_ number: Int64) throws(FileSystemError) -> RemoteExtentRow {
        guard
            let row = try statements[.remoteExtent].first(
                { $0.bind(1, number) }, { RemoteExtentRow($0) }),
            row.isPossible
        else { throw .damaged(place: "row \(number) of the index's extents on remotes") }
        return row
    }

    /// Changes the number of bytes of ranges that refer to an extent on a remote; removes the row if none are
    /// left.
    ///
    /// - Returns: The new number.
    @discardableResult
    package func addLive(_ difference: Int64, toRemote number: Int64) throws(FileSystemError) -> Int64 {
        let old = try remoteExtent(number)
        let (live, overflows) = old.live.addingReportingOverflow(difference)
        if overflows { throw .damaged(place: "row \(number) of the index's extents on remotes") }
        digest.subtract(.remoteExtents, hash(of: old))
        if live > 0 {
            try statements[.putRemoteLive].run {
                $0.bind(1, live)
                $0.bind(2, number)
            }
            digest.add(
                .remoteExtents, hash(of: RemoteExtentRow(number: number, place: old.place, live: live)))
        } else {
            try statements[.removeRemoteExtent].run { $0.bind(1, number) }
        }
        changes += 1
        return live
    }

    /// Records a new place of a sealed extent, which must have the same hash.
    package func moveRemoteExtent(_ number: Int64, to place: SealedPlace) throws(FileSystemError) {
        let old = try remoteExtent(number)
        precondition(place.hash == old.place.hash)
        try statements[.moveRemoteExtent].run {
            $0.bind(1, place.pack.bytes)
            $0.bind(2, Int64(place.position))
            $0.bind(3, number)
        }
        digest.subtract(.remoteExtents, hash(of: old))
        digest.add(.remoteExtents, hash(of: RemoteExtentRow(number: number, place: place, live: old.live)))
        changes += 1
    }

    private func hash(of row: RemoteExtentRow) -> RowDigest.Sum {
        digest.hash(.remoteExtents) { row.digest(into: &$0) }
    }

    /// The pages of an item's content that are on a remote.
    package func pages(of item: Int64) throws(FileSystemError) -> [RemotePageRow] {
        var rows: [RemotePageRow] = []
        try statements[.pages].each({ $0.bind(1, item) }) { row throws(FileSystemError) in
            rows.append(try RemotePageRow.checked(row))
            return true
        }
        return rows
    }

    /// The recorded page of a node of an item's content; nil if there is none.
    package func page(_ node: ContentNode, of item: Int64) throws(FileSystemError) -> RemotePageRow? {
        try statements[.page].first(
            {
                $0.bind(1, item)
                $0.bind(2, Int64(node.level))
                $0.bind(3, Int64(bitPattern: node.index))
            }, { RemotePageRow($0) })
    }

    /// Records a page of a node that has none yet.
    package func insert(_ row: RemotePageRow) throws(FileSystemError) {
        try statements[.putPage].run { row.bind(to: $0) }
        digest.add(.remotePages, digest.hash(.remotePages) { row.digest(into: &$0) })
        changes += 1
    }

    /// Removes a page, which must equal the stored one.
    package func remove(_ row: RemotePageRow) throws(FileSystemError) {
        try statements[.removePage].run {
            $0.bind(1, row.item)
            $0.bind(2, Int64(row.node.level))
            $0.bind(3, Int64(bitPattern: row.node.index))
        }
        digest.subtract(.remotePages, digest.hash(.remotePages) { row.digest(into: &$0) })
        changes += 1
    }
}

extension RemotePageRow {
    static func checked(_ statement: Statement) throws(FileSystemError) -> RemotePageRow {
        let row = RemotePageRow(statement)
        guard row.isPossible else {
            throw .damaged(place: "a page of item \(row.item)'s content in the index")
        }
        return row
    }
}
