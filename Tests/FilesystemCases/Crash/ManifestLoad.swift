/// What a crash writer does most: how large its files are, how many there are, which changes it makes.
package enum ManifestLoad: String, CaseIterable, Sendable {
    /// Some of all.
    case mixed
    /// Many small files that come, go and change their names: rows of the index, a log that grows.
    case small
    /// Few files of several mebibytes: extents that are written to packs at once.
    case large
    /// Files that are replaced and overwritten again and again: dead bytes, which compaction takes up.
    case rewriting

    /// One change of a file.
    enum Change {
        case create, replace, append, overwrite, scribble, synchronise, rename, remove, truncate
    }

    /// The changes, each as often as it is likely.
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

    /// Files from which on none are added.
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
