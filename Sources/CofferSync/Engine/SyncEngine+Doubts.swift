internal import CofferTrust

// Whether what the remote shows can be all there is.
extension SyncEngine {
    /// Whether the remote shows less than it did, but has not done so often enough to be told: another round will tell.
    package var isDoubtful: Bool { staleRounds.values.contains { $0 < setup.staleRoundsMax } }
}

extension SyncFinding {
    /// Whether it means that the remote has less than it had, or something else than others say: who relies on what
    /// is shown should know.
    package var isDoubt: Bool {
        switch self {
        // Whose right had ended is known to have said too much.
        case .stopped(_, _, .right(.tooLate)), .stopped(_, _, .right(.notTheBound)), .withdrawn: false
        case .stopped, .intruder, .gap, .absent, .forked, .stale, .otherState, .memberLink,
            .staleMembers:
            true
        case .membership(.fork), .membership(.linkMissing): true
        // What was in the way, or lost, is mended.
        case .obstacle, .tooManyLogs, .complaint, .clockAhead, .checkpoint, .membership: false
        }
    }
}
