package import CofferFormat

/// What was found out about an item from the facts about it and its entries.
package struct ItemState: Equatable, Sendable {
    /// Whether it is a directory.
    package var isDirectory = false
    /// When it was said what it is; nil if nobody did.
    package var kindStamp: Stamp?
    /// Of a directory: the entry that counts.
    package var entry: EntryID?
    /// Which of a directory's places counts.
    package var level = Level.claimed
    /// The directory that is shown in its stead; nil if it is itself.
    package var united: ItemID?
    /// How many entries of it are shown.
    package var shownEntries = 0
    /// What it adds to the hash of what is shown; nil while no entry is.
    package var hash: StateHash?

    /// Nothing is known of it.
    package init() {}

    /// Which place of a directory counts, so that there is no cycle.
    package enum Level: UInt8, Comparable, Sendable {
        /// The one that facts say.
        case claimed = 0
        /// The one where it was before.
        case previous = 1
        /// The root.
        case root = 2

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether entries can lie in it.
    var isParent: Bool { isDirectory && entry != nil }
}

/// A content that lost against another, and is shown as a copy.
package struct CopySource: Hashable, Sendable {
    /// The item that has both.
    package var item: ItemID
    /// The commit that the content came with.
    package var dot: Dot

    package init(item: ItemID, dot: Dot) {
        self.item = item
        self.dot = dot
    }
}

/// Where an entry is shown, and to what it leads.
package struct Showing: Hashable, Sendable {
    /// Where.
    package var place: Place
    /// To what.
    package var item: ItemID

    package init(place: Place, item: ItemID) {
        self.place = place
        self.item = item
    }
}

/// What was found out about an entry, or about a copy by rule, which has no facts of its own.
package struct EntryState: Equatable, Sendable {
    /// What it leads to.
    package var item: ItemID
    /// The stamp of the fact, or of the losing content, that counts.
    package var stamp: Stamp
    /// Of a copy by rule: of what.
    package var copied: CopySource?
    /// Whether it leads to a directory.
    package var isDirectory = false
    /// Whether it is shown whatever lies in it: false for a directory that was removed.
    package var isLive = false
    /// Where it claims to lie; nil if it claims nothing, as it is gone.
    package var target: Place?
    /// Where it lies: at its target, or in the root if there is no such directory.
    ///
    /// Parents are as facts name them.
    package var place: Place?
    /// Whether it is shown, or a part of a directory that is.
    package var isActive = false
    /// As `place` if it is active; the parent is the directory that is shown.
    package var slot: Place?
    /// If it has no right to the name of its slot: the directory, and the name by rule without a number.
    package var wanted: Place?
    /// Where it is shown; nil if it is not, or only a part of a directory that is.
    package var shown: Place?
    /// How it was shown when it was last taken by `FactTree.takeChanges`.
    package var taken: Showing?

    package init(item: ItemID, stamp: Stamp, copied: CopySource? = nil) {
        self.item = item
        self.stamp = stamp
        self.copied = copied
    }

    /// How it is shown.
    package var showing: Showing? { shown.map { Showing(place: $0, item: item) } }

    /// Whether nothing would be lost if it were forgotten, were it not for facts about it.
    var isVoid: Bool { target == nil && wanted == nil && shown == nil && taken == nil }
}
