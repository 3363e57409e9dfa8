internal import CofferTrust

extension SyncFinding {
    /// Whether the remote may be showing less than it had, or a state that other devices contradict.
    ///
    /// A user who relies on what is shown should know.
    package var isDoubt: Bool {
        switch self {
        // The right had ended, so these commits are known not to count.
        case .stopped(_, _, .right(.tooLate)), .stopped(_, _, .right(.notTheBound)), .withdrawn: false
        case .stopped, .intruder, .gap, .absent, .ownLost, .contentsLost, .forked, .stale, .otherState,
            .memberLink,
            .staleMembers:
            true
        case .membership(.fork), .membership(.linkMissing): true
        // These have been repaired, or do not concern what the remote shows.
        case .obstacle, .putAgain, .contentsPutAgain, .packsStay, .tooManyLogs, .complaint, .clockAhead,
            .checkpoint,
            .membership:
            false
        }
    }

    /// Whether the remote had lost something that this device has put back.
    package var isRepair: Bool {
        switch self {
        case .putAgain, .contentsPutAgain: true
        default: false
        }
    }
}
