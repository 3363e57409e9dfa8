package import CofferFormat

/// A change that was made on this device, in terms of the tree that is shown.
package enum LocalChange: Hashable, Sendable {
    /// An item was made, with one entry; `modified` is in nanoseconds since 1970.
    case create(ItemID, Fact.Kind, mode: UInt16, modified: Int64, EntryID, at: Place)
    /// An item that is not a directory got another entry.
    case link(ItemID, EntryID, at: Place)
    /// An entry was moved; the entry that was shown there is removed.
    case move(EntryID, to: Place)
    /// Two entries changed places.
    case exchange(EntryID, EntryID)
    /// An entry was removed; for a directory, after everything that was shown in it.
    case remove(EntryID)
    /// A file got a new content.
    case setContent(ItemID, Fact.Content)
    /// An item got new permissions.
    case setMode(ItemID, UInt16)
    /// An item got a new modification time, in nanoseconds since 1970.
    case setModified(ItemID, Int64)
    /// An extended attribute was set, or removed if the value is nil.
    case setExtendedAttribute(ItemID, name: [UInt8], value: [UInt8]?)
}

/// Why a local change is not possible: the tree that is shown differs from what the caller expected.
package enum LocalChangeRefusal: Hashable, Sendable {
    /// The entry is not shown.
    case entryNotShown(EntryID)
    /// The item is not shown.
    case itemNotShown(ItemID)
    /// The new item or entry exists already.
    case exists
    /// The place is not in a directory that is shown.
    case noDirectory(ItemID)
    /// The name is taken.
    case nameTaken(Place)
    /// The directory is not empty.
    case directoryNotEmpty(ItemID)
    /// A directory cannot lie in itself.
    case intoItself(ItemID)
    /// The item is a directory and can have only one entry, or is not a file and cannot have content.
    case wrongKind(ItemID)
}

/// Why a local change was not made.
package enum LocalChangeError<Failure: Error>: Error {
    /// The change is not possible; nothing was changed.
    case refused(LocalChangeRefusal)
    /// The store failed; roll back its transaction.
    case store(Failure)
}
