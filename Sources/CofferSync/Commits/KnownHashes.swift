internal import CofferFormat

/// Hashes of the last commits of each log, by which forks are noticed.
struct KnownHashes: Sendable {
    /// How many of a log are kept.
    static let countMax = 64

    private var logs: [LogID: [UInt64: CommitHash]] = [:]

    /// Keeps the hash of a commit; of the oldest nothing is kept then.
    mutating func note(_ dot: Dot, _ hash: CommitHash) {
        logs[dot.log, default: [:]][dot.sequence] = hash
        guard dot.sequence > UInt64(Self.countMax) else { return }
        logs[dot.log]?[dot.sequence - UInt64(Self.countMax)] = nil
    }

    /// The hash of a commit; nil if it is not kept.
    subscript(dot: Dot) -> CommitHash? { logs[dot.log]?[dot.sequence] }
}
