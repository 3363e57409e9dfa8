internal import CofferVault

/// The past states of a vault, or of one item.
package struct HistoryReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The path in the vault; empty for the whole vault.
    package let path: String
    /// The states, from the oldest to the present one.
    package let states: [State]

    /// A state, or several states in which the item was the same.
    package struct State: Codable, Sendable {
        /// From when on, in seconds since 1970.
        package let since: Int64
        /// Until when, in seconds since 1970; nil for the present state.
        package let until: Int64?
        /// What the path led to; nil if it led to nothing, and for the whole vault.
        package let item: Item?
        /// How the item became what it is: created, changed, moved, or removed; nil in the first state, and for the whole
        /// vault.
        package let change: String?
        /// Who made the change; empty in the first state, and for the whole vault.
        package let by: [AuthorReport]
        /// For the whole vault: who made the changes that ended the state.
        package let endedBy: [AuthorReport]
        /// The names of the state's snapshots; none for the versions of an item.
        package let snapshots: [String]
    }

    /// An item in some state.
    package struct Item: Codable, Equatable, Sendable {
        /// Its type: file, directory, symlink, or other.
        package let type: String
        /// The size of its content in bytes.
        package let size: Int64
        /// When its content was last changed, in seconds since 1970.
        package let modified: Int64
    }
}

/// A device that changed something.
package struct AuthorReport: Codable, Equatable, Sendable {
    /// The device as text, which `coffer undo --by` takes.
    package let text: String
    /// What its owner is called; nil if that is not known.
    package let name: String?
    /// What its owner calls the device; nil if that is not known.
    package let device: String?
    /// The id of the owner's identity: 64 hexadecimal digits; nil if that is not known.
    package let identity: String?
}

/// A state of a vault that has a name.
package struct SnapshotReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The name of the snapshot.
    package let name: String
    /// When it was made, in seconds since 1970.
    package let created: Int64
    /// From when on the vault was in this state, in seconds since 1970; nil if the index has lost the state.
    package let since: Int64?
    /// When the state ended, in seconds since 1970; nil if nothing has changed since.
    package let until: Int64?
}

/// What differs between two states of a vault.
package struct DifferenceReport: Codable, Sendable {
    /// From when on the vault was in the first state, in seconds since 1970.
    package let from: Int64
    /// From when on it was in the second state, in seconds since 1970.
    package let to: Int64
    /// The differences, by path.
    package let differences: [Difference]

    /// One difference.
    package struct Difference: Codable, Sendable {
        /// What happened to the path: added, removed, changed, or attributes.
        package let kind: String
        /// The path in the vault; empty for the vault itself.
        package let path: String
        /// Whether it leads, or led, to a directory.
        package let isDirectory: Bool

        package init(kind: String, path: String, isDirectory: Bool) {
            self.kind = kind
            self.path = path
            self.isDirectory = isDirectory
        }
    }
}

/// What a restore has done.
package struct RestoredReport: Codable, Sendable {
    /// From when on the vault was in the state that was restored, in seconds since 1970.
    package let since: Int64
    /// The number of items that were brought back.
    package let items: Int
    /// The number of items that were as they had been.
    package let unchanged: Int
    /// The number of items that were removed.
    package let removed: Int
    /// The number of items that came while the restore went on, and were left alone.
    package let kept: Int
    /// The bytes of content that were written.
    package let bytes: Int64
}

/// What an undo has done, or would do.
package struct UndoneReport: Codable, Sendable {
    /// From when on the vault was in the state from which the changes count, in seconds since 1970.
    package let since: Int64
    /// Up to when it is known to have been in that state, in seconds since 1970.
    ///
    /// Later changes count, even if they are older than what was asked for.
    package let until: Int64
    /// The devices whose changes were taken back.
    package let by: [AuthorReport]
    /// What became of which paths.
    package let steps: [Step]
    /// What was not taken back.
    package let conflicts: [Conflict]
    /// The bytes of contents that were put back.
    package let bytes: Int64
    /// Whether all of it is on the disk; if not, it will be once that is possible.
    package let isStored: Bool

    /// Something that was taken back.
    package struct Step: Codable, Sendable {
        /// What happened: restored, changed, moved, or removed.
        package let kind: String
        /// The path in the vault; empty for the vault itself.
        package let path: String
    }

    /// Something that was not taken back, or only a part of it.
    package struct Conflict: Codable, Sendable {
        /// The path in the vault; empty for the vault itself.
        package let path: String
        /// Why not: changedByOthers, partlyUndone, changedMeanwhile, placeTaken, unreadable, or holdsOthers.
        package let reason: String
        /// The other devices that changed it.
        package let by: [AuthorReport]
    }

    init(_ undone: Undo.Result, since state: History.State, by authors: [AuthorReport], _ names: AuthorNames)
    {
        since = state.since / 1_000_000_000
        until = state.until / 1_000_000_000
        by = authors
        steps = undone.steps.map {
            Step(kind: $0.kind.rawValue, path: String(decoding: $0.path, as: UTF8.self))
        }
        conflicts = undone.conflicts.map {
            Conflict(
                path: String(decoding: $0.path, as: UTF8.self), reason: $0.reason.rawValue,
                by: names.reports($0.authors))
        }
        bytes = undone.bytes
        isStored = undone.isStored
    }
}
