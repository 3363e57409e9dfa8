internal import CofferFormat

/// Logs of which the remote shows less than before.
///
/// A listing may be old, and a replicated folder may be late, so this is reported only after some rounds.
struct StaleLogs: Equatable, Sendable {
    /// The number of rounds after which a log is reported.
    let roundsMax: Int
    private var roundCounts: [LogID: Int] = [:]

    init(roundsMax: Int) {
        self.roundsMax = roundsMax
    }

    /// Records whether a round found less of a log than before.
    mutating func record(_ log: LogID, isStale: Bool) {
        roundCounts[log] = isStale ? (roundCounts[log] ?? 0) + 1 : nil
    }

    /// Logs that enough rounds have found to be stale.
    var reported: [LogID] { roundCounts.filter { $0.value >= roundsMax }.map(\.key) }

    /// Whether a log is stale that is not reported yet.
    var isDoubtful: Bool { roundCounts.values.contains { $0 < roundsMax } }

    /// Whether a log other than this one is stale, reported or not.
    func contains(otherThan log: LogID) -> Bool { roundCounts.keys.contains { $0 != log } }
}

/// Commits that the remote lists, or lists later ones of, and that are not there.
///
/// A commit that is missing in one round may only be late; one that is missing in two counts as lost, until it
/// is there.
struct AbsentCommits: Equatable, Sendable {
    /// Commits that were missing in the last round that listed all logs.
    private(set) var missing: Set<Dot> = []
    /// Those that were missing in the round before it as well.
    private(set) var lost: Set<Dot> = []
    /// Those of them for which no checkpoint was found.
    private var uncovered: Set<Dot> = []

    /// Records which commits were missing in a round that listed all logs.
    mutating func record(_ missing: Set<Dot>) {
        lost = missing.intersection(self.missing)
        self.missing = missing
    }

    /// Whether to look for a checkpoint that covers the lost commits.
    ///
    /// - Parameter isThorough: Whether to look again for one that was not found before.
    func needCheckpoint(isThorough: Bool) -> Bool { !lost.isEmpty && (lost != uncovered || isThorough) }

    /// Records that no checkpoint covers the lost commits.
    mutating func foundNoCheckpoint() { uncovered = lost }
}
