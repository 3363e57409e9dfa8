internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// What an undo knows before it changes anything.
struct UndoPlan {
    /// The items that the devices changed, by their ids.
    var items: [ItemID: UndoItem] = [:]
    /// The numbers and the names of all directories; the root has none.
    var directories: [ItemID: (number: Int64, place: UndoItem.Place?)] = [:]
    /// The last moment that had begun before the present items were noted.
    ///
    /// The next change begins another one, as the state before it was made one that is kept.
    var lastMoment: Int64 = 0
    /// The states that the items go back to; they stay open as long as the plan.
    let views: UndoViews
}

/// The states that an undo looks at.
///
/// Closes those that it opened when it goes; `since` stays open.
final class UndoViews {
    let since: HistoryView
    private let vault: Vault
    private var views: [Int64: HistoryView] = [:]

    init(_ vault: Vault, since: HistoryView) {
        self.vault = vault
        self.since = since
    }

    deinit { for view in views.values { view.close() } }

    /// The state of a moment.
    ///
    /// - Throws: `.stale` if it is no longer kept.
    func view(_ moment: Int64) throws(FileSystemError) -> HistoryView {
        if moment == since.moment.number { return since }
        if let view = views[moment] { return view }
        guard let view = try vault.history.view(ofMoment: moment) else { throw .stale }
        views[moment] = view
        return view
    }
}

/// An item that some devices changed: how it is now, and how it is to become.
///
/// Items count by their ids. On a mount, a content of another device comes as an item with another number.
struct UndoItem {
    /// How it is now; nil if it has no name.
    var present: Present?
    /// How it was before the changes that are taken back; nil if it was not there.
    var past: Past?
    /// The others who changed it so late that not all is taken back.
    var others: Set<History.Author> = []
    /// Why nothing is taken back; nil if it is.
    var obstacle: Undo.Conflict.Reason?
    /// Whether its content is to become another one.
    var changesContent = false
    /// Whether its owner, permissions, extended attributes, or time are to change.
    var changesAttributes = false

    /// A name, by the id of the directory.
    struct Place: Hashable {
        let parent: ItemID
        let name: [UInt8]
    }

    struct Present {
        let row: ItemRow
        /// The extended attributes of a directory.
        let extendedAttributes: [[UInt8]: [UInt8]]
        var places: Set<Place>
    }

    struct Past {
        let view: HistoryView
        let attributes: Attributes
        let extendedAttributes: [(name: [UInt8], value: [UInt8])]
        var places: Set<Place> = []
    }

    var isDirectory: Bool {
        (present.map { FileType(mode: $0.row.mode) } ?? past?.attributes.type) == .directory
    }

    /// Whether it gets or loses a name.
    var changesPlaces: Bool { (present?.places ?? []) != (past?.places ?? []) }

    /// Whether it differs from what it was.
    var isOther: Bool { changesPlaces || changesContent || changesAttributes }

    /// Whether anything is to change.
    var changes: Bool { obstacle == nil && isOther }

    /// Whether another item has to be made that takes its names.
    var needsDraft: Bool { past != nil && (present == nil || changesContent) }

    /// One of its names, if possible one that it has.
    var place: Place? { present?.places.min() ?? past?.places.min() }
}

extension UndoItem.Place: Comparable {
    static func < (one: Self, other: Self) -> Bool {
        one.name == other.name ? one.parent < other.parent : one.name.lexicographicallyPrecedes(other.name)
    }
}

extension UndoItem.Present {
    /// Notes how an item is; nil if there is none, or if it has no name.
    init?(
        _ number: Int64, _ places: Set<UndoItem.Place>, _ state: borrowing VaultState
    ) throws(FileSystemError) {
        guard let row = try state.tree.row(number), row.links > 0, !row.flags.contains(.isVersion) else {
            return nil
        }
        self.row = row
        self.places = places
        extendedAttributes = try Self.extendedAttributes(of: row, state)
    }

    private static func extendedAttributes(
        of row: ItemRow, _ state: borrowing VaultState
    ) throws(FileSystemError) -> [[UInt8]: [UInt8]] {
        guard FileType(mode: row.mode) == .directory, row.flags.contains(.hasAttributes) else { return [:] }
        return try state.index.attributes(of: row.number).reduce(into: [:]) { $0[$1.name] = $1.value }
    }

    /// Whether nobody has changed the item since, but for the names in a directory.
    ///
    /// - Parameter moment: The last one that had begun before the item was noted. Any change since has ended a version
    ///   with a later one, also a change of the content that left the size and the times alone.
    func isUnchanged(
        since moment: Int64, _ state: borrowing VaultState
    ) throws(FileSystemError) -> Bool {
        guard let now = try state.tree.row(row.number), now.links > 0, now.id == row.id else { return false }
        if FileType(mode: row.mode) == .directory {
            guard Attributes(now).hasSameRights(as: Attributes(row)) else { return false }
            return try Self.extendedAttributes(of: now, state) == extendedAttributes
        }
        guard now.changed == row.changed, now.size == row.size, now.allocated == row.allocated,
            now.links == row.links
        else { return false }
        return try state.index.versions(of: row.number, from: moment + 1).isEmpty
    }
}
