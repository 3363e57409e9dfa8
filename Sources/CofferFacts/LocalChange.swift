package import CofferFormat

/// Something that was done on this device, in terms of the tree that is shown.
package enum LocalChange: Hashable, Sendable {
    /// An item was made, with one entry; `modified` in nanoseconds since 1970.
    case create(ItemID, Fact.Kind, mode: UInt16, modified: Int64, EntryID, at: Place)
    /// An item that is no directory got another entry.
    case link(ItemID, EntryID, at: Place)
    /// An entry was moved; what was shown there is removed.
    case move(EntryID, to: Place)
    /// Two entries changed places.
    case exchange(EntryID, EntryID)
    /// An entry was removed; of a directory, after all that was shown in it.
    case remove(EntryID)
    /// A file got another content.
    case setContent(ItemID, Fact.Content)
    /// An item got other permissions.
    case setMode(ItemID, UInt16)
    /// An item got another time of modification, in nanoseconds since 1970.
    case setModified(ItemID, Int64)
    /// An extended attribute was set, or removed.
    case setExtendedAttribute(ItemID, name: [UInt8], value: [UInt8]?)
}

/// Why a local change is not possible: the tree that is shown is another than who made it believed.
package enum LocalChangeRefusal: Hashable, Sendable {
    /// No such entry is shown.
    case entryNotShown(EntryID)
    /// No such item is shown.
    case itemNotShown(ItemID)
    /// The item or the entry exists, and cannot be made.
    case exists
    /// The place is not in a directory that is shown.
    case noDirectory(ItemID)
    /// The name is taken.
    case nameTaken(Place)
    /// Something lies in the directory.
    case directoryNotEmpty(ItemID)
    /// A directory cannot lie in itself.
    case intoItself(ItemID)
    /// The item is a directory and has one entry, or is not a file and has no content.
    case wrongKind(ItemID)
}

/// Why a local change was not made.
package enum LocalChangeError<Failure: Error>: Error {
    /// Nothing was changed.
    case refused(LocalChangeRefusal)
    /// The store failed; its transaction is to be undone.
    case store(Failure)
}
