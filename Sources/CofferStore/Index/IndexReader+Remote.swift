package import CofferFormat

// What contents refer to at a remote, piece by piece.
extension IndexReader {
    /// A piece of a content at a remote, and who refers to it: an extent that a range shows a part of, or a page.
    package struct RemoteUse: Equatable, Sendable {
        /// The item whose content has the piece.
        package let item: Int64
        /// Whether only the history has this content.
        package let isPast: Bool
        /// Where the piece is, and its hash.
        package let place: SealedPlace
        /// Its sealed bytes.
        package let sealedByteCount: Int
        /// The bytes that it takes in its pack: for an extent, with the hashes of its leaves.
        package let byteCount: Int
        /// Whether it is a page, which follows from the index.
        package let isPage: Bool
        /// The bytes of content that the range shows of it; 0 for a page.
        package let length: Int64
        /// Whether these bytes are also on this device.
        package let isHere: Bool

        /// Where it ends in its pack.
        package var end: Int { Int(place.position) + byteCount }
    }

    /// Calls a function for each range of content that is at a remote, and for each page; one pass over all.
    package func eachRemoteUse(
        _ body: (RemoteUse) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        let isPast = "i.flags & \(ItemRow.Flags.isVersion.rawValue) <> 0"
        try database.prepare(
            """
            SELECT r.number, r.pack, r.position, r.hash, r.live, e.item, e.length, e.total,
            e.pack <> 0 OR e.position <> 0, \(isPast)
            FROM extents e JOIN remote_extents r ON r.number = e.remote JOIN items i ON i.number = e.item
            """
        ).each({ _ in }) { row throws(FileSystemError) in
            let remote = RemoteExtentRow(row)
            let (item, length, total) = (row.integer(5), row.integer(6), row.integer(7))
            guard remote.isPossible, 1...Int64(ExtentLayout.byteCountMax) ~= total, 1...total ~= length else {
                throw .damaged(place: "an extent of item \(item)")
            }
            try body(
                RemoteUse(
                    item: item, isPast: row.integer(9) != 0, place: remote.place,
                    sealedByteCount: ExtentLayout.sealedByteCount(Int(total)),
                    byteCount: ExtentLayout.remoteByteCount(Int(total)), isPage: false, length: length,
                    isHere: row.integer(8) != 0))
            return true
        }
        try database.prepare(
            """
            SELECT p.item, p.level, p."index", p.plain, p.pack, p.position, p.length, p.epoch, p.hash, \(isPast)
            FROM remote_pages p JOIN items i ON i.number = p.item
            """
        ).each({ _ in }) { row throws(FileSystemError) in
            let page = try RemotePageRow.checked(row)
            let count = Int(page.reference.length)
            try body(
                RemoteUse(
                    item: page.item, isPast: row.integer(9) != 0, place: page.reference.place,
                    sealedByteCount: count, byteCount: count, isPage: true, length: 0, isHere: true))
            return true
        }
    }
}
