internal import CofferFormat

/// Hashes of each log's last commits, for detecting forks.
struct KnownHashes: Sendable {
    /// The number of hashes kept for each log.
    static let countMax = 64

    private var logs: [LogID: [UInt64: CommitHash]] = [:]

    /// Keeps the hash of a commit, and drops the oldest one.
    mutating func add(_ dot: Dot, _ hash: CommitHash) {
        logs[dot.log, default: [:]][dot.sequence] = hash
        guard dot.sequence > UInt64(Self.countMax) else { return }
        logs[dot.log]?[dot.sequence - UInt64(Self.countMax)] = nil
    }

    /// The hash of a commit; nil if it is not kept.
    subscript(dot: Dot) -> CommitHash? { logs[dot.log]?[dot.sequence] }
}
