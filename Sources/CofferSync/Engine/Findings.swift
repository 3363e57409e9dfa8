/// Problems that an engine has come across, each of which stays until it is resolved.
///
/// Each finding is kept once. Of more than 256, the oldest are dropped: a storage can cause any number.
struct Findings: Equatable, Sendable {
    /// The most findings that are kept.
    static let countMax = 256

    /// The findings, the oldest first.
    private(set) var all: [SyncFinding] = []

    /// Keeps a finding, unless it is known.
    mutating func report(_ finding: SyncFinding) {
        guard !all.contains(finding) else { return }
        if all.count >= Self.countMax { all.removeFirst() }
        all.append(finding)
    }

    /// Drops findings that no longer hold.
    mutating func resolve(where isResolved: (SyncFinding) -> Bool) { all.removeAll(where: isResolved) }

    /// Whether a finding of a kind is kept.
    func contains(where isWanted: (SyncFinding) -> Bool) -> Bool { all.contains(where: isWanted) }
}
