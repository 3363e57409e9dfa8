package import CofferFormat

/// What the facts about an item and its entries result in.
package struct ItemState: Equatable, Sendable {
    /// Whether the item is a directory.
    package var isDirectory = false
    /// The stamp of its kind; nil if no fact states a kind.
    package var kindStamp: Stamp?
    /// For a directory: the entry that counts.
    package var entry: EntryID?
    /// For a directory: which of its places counts.
    package var level = Level.claimed
    /// The directory that is shown in its place; nil if it is shown itself.
    package var united: ItemID?
    /// The number of its entries that are shown.
    package var shownEntries = 0
    /// Its part in the hash of what is shown; nil while none of its entries is shown.
    package var hash: StateHash?

    /// The state of an unknown item.
    package init() {}

    /// Which place of a directory counts, so that there is no cycle.
    package enum Level: UInt8, Comparable, Sendable {
        /// The place that facts state.
        case claimed = 0
        /// Its previous place.
        case previous = 1
        /// The root.
        case root = 2

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether it can hold entries.
    var isParent: Bool { isDirectory && entry != nil }
}

/// A content that lost to another one, and is shown as a copy.
package struct CopySource: Hashable, Sendable {
    /// The item with both contents.
    package var item: ItemID
    /// The commit that the content came with.
    package var dot: Dot

    package init(item: ItemID, dot: Dot) {
        self.item = item
        self.dot = dot
    }
}

/// Where an entry is shown, and the item that it leads to.
package struct Showing: Hashable, Sendable {
    /// The place.
    package var place: Place
    /// The item.
    package var item: ItemID

    package init(place: Place, item: ItemID) {
        self.place = place
        self.item = item
    }
}

/// What the facts result in for an entry, or for a copy by rule, which has no facts of its own.
package struct EntryState: Equatable, Sendable {
    /// The item that it leads to.
    package var item: ItemID
    /// The stamp of the fact, or of the losing content, that counts.
    package var stamp: Stamp
    /// For a copy by rule: the content that it shows.
    package var copied: CopySource?
    /// Whether it leads to a directory.
    package var isDirectory = false
    /// Whether it is shown even when empty: false for a directory that was removed.
    package var isLive = false
    /// The place that it claims; nil if it claims none, as it was removed.
    package var target: Place?
    /// Where it lies: at its target, or in the root if the target's parent cannot hold entries.
    ///
    /// Parents are as facts name them.
    package var place: Place?
    /// Whether it is shown, or is part of a directory that is shown.
    package var isActive = false
    /// Like `place`, if it is active, but with the directory that is shown as the parent.
    package var slot: Place?
    /// If it does not keep the name of its slot: the directory, and its name by rule without a number.
    package var wanted: Place?
    /// Where it is shown; nil if it is not shown, or only as part of another directory.
    package var shown: Place?
    /// How it was shown when `FactTree.takeChanges` last returned it.
    package var taken: Showing?

    package init(item: ItemID, stamp: Stamp, copied: CopySource? = nil) {
        self.item = item
        self.stamp = stamp
        self.copied = copied
    }

    /// How it is shown now.
    package var showing: Showing? { shown.map { Showing(place: $0, item: item) } }

    /// Whether it can be forgotten, unless facts about it exist.
    var isVoid: Bool { target == nil && wanted == nil && shown == nil && taken == nil }
}
