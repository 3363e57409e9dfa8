/// Something of a vault's members or commits that the remote lacks, or has damaged.
package enum RemoteProblem: Equatable, Sendable {
    /// The object that shows that the remote has the vault.
    case vault
    /// That object has other bytes than it should: its name.
    case format(name: String)
    /// Links of the member chain: the number of the first one, and how many others.
    case links(first: UInt64, others: Int)
    /// Links, or the transient key, of an identity.
    case identity(String)
    /// Sets of wrapped keys of the current epoch.
    case wraps(count: Int)
    /// Commits of another device that no checkpoint covers.
    case commits(LogAuthor, first: UInt64, others: Int)
    /// Commits of this device that no checkpoint covers, and whether it has the bytes of all of them.
    case ownCommits(first: UInt64, others: Int, areKept: Bool)
    /// The checkpoint with which a new device begins, and how many of the commits that it covers are gone.
    case checkpoint(LogAuthor, sequence: UInt64, gone: Int)
    /// Pieces of that checkpoint.
    case pieces(LogAuthor, sequence: UInt64, count: Int)

    /// What happens by itself, or what to do, as a sentence.
    package var remedy: String {
        switch self {
        case .vault:
            "Make sure that this is the right storage. If it was emptied, remove the vault's remote, and add it again."
        case .format:
            "No device can join until it is right. Restore it from a backup of the storage."
        case .links, .identity, .wraps:
            "Any member's device puts them back: while mounted, within five minutes; otherwise with “coffer sync”."
        case .commits:
            "The device that made them puts them back: while mounted, within five minutes; otherwise with “coffer sync”."
        case .ownCommits(_, _, areKept: true):
            "This device puts them back with “coffer sync”; while mounted, within five minutes."
        case .ownCommits(_, _, areKept: false):
            "This device no longer has all of them. “coffer sync” makes a checkpoint that replaces them, if you may write."
        case .checkpoint(_, _, let gone):
            gone == 0
                ? "New devices begin with the commits that it covers, which are still there. A later checkpoint replaces it."
                : "New devices have to wait for the next checkpoint, which a device makes after further changes."
        case .pieces:
            "New devices have to wait for the next checkpoint, which a device makes after further changes."
        }
    }
}

extension RemoteProblem: CustomStringConvertible {
    package var description: String {
        func more(_ count: Int) -> String { count > 0 ? " and \(count) more" : "" }
        return switch self {
        case .vault: "The remote does not have the vault."
        case .format(let name):
            "The object “\(name)”, by which new devices know the vault: damaged, or of another version."
        case .links(let first, let others):
            "Link \(first) of the members\(more(others)): missing or damaged."
        case .identity(let name): "Keys of \(name): missing or damaged."
        case .wraps(let count):
            "Vault keys for members: \(count) object\(count == 1 ? " is" : "s are") missing or damaged."
        case .commits(let author, let first, let others):
            "Commit \(first) of \(author)\(more(others)): missing, cut short, or damaged."
        case .ownCommits(let first, let others, _):
            "Commit \(first) of this device\(more(others)): missing, cut short, or damaged."
        case .checkpoint(let author, let sequence, let gone):
            "Checkpoint \(sequence) of \(author): missing, damaged, or not confirmed"
                + (gone > 0
                    ? ", and \(gone) of the commits that it covers \(gone == 1 ? "is" : "are") gone." : ".")
        case .pieces(let author, let sequence, let count):
            "Checkpoint \(sequence) of \(author): \(count) of its pieces \(count == 1 ? "is" : "are") missing or damaged."
        }
    }
}

/// What a look at the members and commits at a remote has found.
package struct RemoteFindings: Sendable {
    /// How many commits a new device would need, of those that this device has applied.
    package var commitCount = 0
    /// What is missing or damaged.
    package var problems: [RemoteProblem] = []
    /// What could not be looked at, and why; also if this device is behind.
    package var failures: [(what: String, why: SyncError)] = []
    /// Whether this device has not applied all that the remote has: what it misses may be gone for a reason.
    package var isBehind = false

    /// Nothing yet.
    package init() {}
}
