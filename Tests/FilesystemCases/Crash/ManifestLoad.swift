/// The profile of a crash writer: the size and number of its files, and the changes it makes most.
package enum ManifestLoad: String, CaseIterable, Sendable {
    /// A mixture of all changes.
    case mixed
    /// Many small files that are made, removed and renamed: rows of the index, a log that grows.
    case small
    /// Few files of several mebibytes: extents that are written to packs at once.
    case large
    /// Files that are repeatedly replaced and overwritten: dead bytes, for compaction.
    case rewriting

    /// One change of a file.
    enum Change {
        case create, replace, append, overwrite, scribble, synchronise, rename, remove, truncate
    }

    /// The changes; a repeated one is more likely.
    var changes: [Change] {
        switch self {
        case .mixed:
            [
                .replace, .replace, .append, .append, .overwrite, .overwrite, .scribble, .scribble, .rename,
                .remove, .truncate, .create, .create,
            ]
        case .small:
            [.replace, .append, .rename, .rename, .remove, .remove, .truncate, .create, .create, .create]
        case .large:
            [.replace, .append, .overwrite, .overwrite, .scribble, .scribble, .truncate, .remove, .create]
        case .rewriting: [.replace, .replace, .replace, .overwrite, .overwrite, .scribble, .synchronise]
        }
    }

    /// Bounds of the sizes of new files, in bytes.
    var sizes: [Int] {
        switch self {
        case .mixed: [4096, 20_000, 300_000]
        case .small: [64, 500, 6000]
        case .large: [300_000, 2_000_000, 6_000_000]
        case .rewriting: [40_000, 800_000]
        }
    }

    /// The number of files from which on none are added.
    var fileCountMax: Int {
        switch self {
        case .mixed: 40
        case .small: 300
        case .large: 6
        case .rewriting: 12
        }
    }

    /// Pages that are overwritten in one go, at most.
    var overwrittenPagesMax: Int { self == .large ? 600 : 16 }
}
