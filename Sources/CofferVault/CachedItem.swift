internal import CofferStore
internal import CofferSystem

/// An item in memory; the next commit writes its changes to the index.
final class CachedItem {
    var row: ItemRow
    /// The hash of the row in the index; nil if there is none yet.
    var stored: RowHash?
    /// Whether its unsent state is already recorded: in the index's table, or by a journal record that says
    /// that the item was created.
    var isMarked = false
    /// When its content was last written while it was in memory; the times in the row may follow
    /// later.
    var written: Int64 = 0

    /// When a program on this device last appended to a content that was not empty, cut one off, or made the file; 0
    /// once it has written to one that was empty.
    ///
    /// Known only while the item stays in memory.
    var endMoved: Int64 = 0

    /// Whether a program on this device appended to it, cut it off, or made it within the last minute, and may go on with
    /// that.
    ///
    /// Bytes that were added to the inode at that moment could be overwritten: both writers would write at
    /// the old end, or the program would write a file that it knows to be empty.
    var wasEndMovedLately: Bool { abs(Clock.realTime - endMoved) < 60_000_000_000 }

    init(_ row: ItemRow, stored: RowHash?) {
        self.row = row
        self.stored = stored
    }

    var type: FileType? { FileType(mode: row.mode) }
}
