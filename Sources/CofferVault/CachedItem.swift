internal import CofferStore
internal import CofferSystem

/// An item in memory; what was changed is written to the index with the next commit.
final class CachedItem {
    var row: ItemRow
    /// The hash of the row that the index has; nil if it has none yet.
    var stored: RowHash?
    /// Whether what is unsent of it is noted already: in the index's table, or by a record of the journal that
    /// says that it was made.
    var isMarked = false
    /// When its content was last written while it was in memory; the times in the row may come later.
    var written: Int64 = 0

    /// Whether a program on this device wrote to it within the last minute, and may be about to append.
    ///
    /// Bytes that are added to its inode at that instant could be overwritten: both would write at the old end.
    var wasWrittenLately: Bool { abs(Clock.realTime - written) < 60_000_000_000 }

    init(_ row: ItemRow, stored: RowHash?) {
        self.row = row
        self.stored = stored
    }

    var type: FileType? { FileType(mode: row.mode) }
}
