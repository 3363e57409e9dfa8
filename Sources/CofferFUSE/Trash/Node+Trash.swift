internal import CofferVault

// Nodes of the trash at the top of the mount.
//
// The directories, and the drafts of info files, belong to slot 0, which no vault has. An info file of a vault is shown
// under the number of the item that keeps it, with a bit that no item's number has.
extension Node {
    private static let infoBit: Int64 = 1 << 46
    private static let firstDraft: Int64 = 16

    /// The directory `.Trash-UID`.
    static let trash = Node(slot: 0, item: 2)
    /// The directory `files` of the trash.
    static let trashFiles = Node(slot: 0, item: 3)
    /// The directory `info` of the trash.
    static let trashInfos = Node(slot: 0, item: 4)
    /// The directory `expunged` of the trash.
    static let trashExpunged = Node(slot: 0, item: 5)

    /// The info file that an item of a vault keeps.
    static func info(of item: Int64, in slot: UInt16) -> Node { Node(slot: slot, item: infoBit | item) }

    /// A draft of an info file, by its number from 0 on.
    static func draft(_ number: Int64) -> Node { Node(slot: 0, item: firstDraft + number) }

    /// Whether it is one of the trash's own nodes; the items in the trash are nodes of their vaults.
    @inline(__always)
    var isTrash: Bool { slot == 0 ? item > 1 : item & Self.infoBit != 0 && !mayBePast }

    /// Whether it is a draft of an info file.
    var isDraft: Bool { slot == 0 && item >= Self.firstDraft }

    /// The number of the item that keeps an info file; nil for other nodes.
    var infoItem: Int64? { slot != 0 && isTrash ? item & ~Self.infoBit : nil }
}
