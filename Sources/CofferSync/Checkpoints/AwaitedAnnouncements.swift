internal import CofferFormat

/// Checkpoints whose announcing commits the remote does not have.
///
/// A replicated folder delivers objects in any order, so the record of a checkpoint may be there before the
/// commit that announces it. That becomes doubtful only after several rounds.
struct AwaitedAnnouncements: Sendable {
    /// The most checkpoints that are remembered.
    private static let countMax = 4096

    private struct Wait {
        var roundCount: Int
        var lastRound: UInt64
    }

    private var waits: [Dot: Wait] = [:]

    /// Records that a round did not find the commit that announces a checkpoint.
    ///
    /// - Returns: The number of rounds that did not find it, including this one.
    mutating func miss(_ checkpoint: Dot, inRound round: UInt64) -> Int {
        guard var wait = waits[checkpoint] else {
            if waits.count < Self.countMax { waits[checkpoint] = Wait(roundCount: 1, lastRound: round) }
            return 1
        }
        // A round may search for checkpoints more than once.
        if wait.lastRound != round { wait = Wait(roundCount: wait.roundCount + 1, lastRound: round) }
        waits[checkpoint] = wait
        return wait.roundCount
    }

    /// Forgets a checkpoint whose announcing commit is there.
    mutating func arrived(_ checkpoint: Dot) { waits[checkpoint] = nil }
}
