internal import CofferFacts
internal import CofferFormat
internal import CofferStore

/// An item's row in memory, with values that were read or changed since.
final class CachedFactItem {
    var row: FactItemRow
    /// All entries of the item, ascending; nil if they have not been read yet.
    var entryList: [EntryID]?
    /// All copies by rule of the item, ascending; nil if they have not been read yet.
    var copyList: [EntryID]?
    /// The names of its extended attributes, ascending; nil if they have not been read yet.
    var attributeNames: [[UInt8]]?
    /// The hash of its row in the index; nil if it has none.
    var stored: RowHash?
    var isDirty = false

    init(_ row: FactItemRow, stored: RowHash?) {
        self.row = row
        self.stored = stored
    }
}

/// An entry's row in memory.
final class CachedFactEntry {
    var row: FactEntryRow
    /// The hash of its row in the index; nil if it has none.
    var stored: RowHash?
    var isDirty = false

    init(_ row: FactEntryRow, stored: RowHash?) {
        self.row = row
        self.stored = stored
    }
}
