internal import CofferFormat

/// What the rounds of an engine have done so far, and what the next one owes.
///
/// After a failure, the state in memory may be ahead of what was saved, and this process may have forgotten
/// problems that still exist. So the next round loads the saved state again, and looks everywhere.
struct RoundState: Sendable {
    /// The number of the current round, counted from 1 in each process.
    private(set) var number: UInt64 = 0
    /// Whether the state in memory agrees with what was saved.
    private(set) var isLoaded = false
    private var mustLookEverywhere = true
    /// Why commits could not be fetched in this round, which sends local changes nevertheless.
    private(set) var pullFailure: SyncError?
    /// How many rounds of `run` have failed.
    var failureCount = 0
    /// Whether the last commits of all logs have been compared with those at the remote.
    var hasCheckedHeads = false
    /// Whether this process has put the vault at the remote.
    var hasShared = false
    /// Whether all facts have to be rebuilt.
    var isRebuildWanted = false
    /// A commit missing at the remote, without which a rebuild would lose facts.
    var neededForRebuild: Dot?

    /// Begins a round.
    ///
    /// - Returns: Where it has to look.
    mutating func begin(_ scope: RoundScope) -> RoundScope {
        number += 1
        return mustLookEverywhere || !isLoaded ? .all : scope
    }

    /// Records that a round has succeeded, and where it looked.
    mutating func succeeded(_ scope: RoundScope) {
        if scope == .all { mustLookEverywhere = false }
    }

    /// Records that the saved state has been loaded.
    mutating func loaded() { isLoaded = true }

    /// Makes the next use of the state load it, because other code has changed what is saved.
    mutating func mustLoad() { isLoaded = false }

    /// Records that an operation has failed.
    mutating func failed() {
        isLoaded = false
        mustLookEverywhere = true
    }

    /// Forgets why commits could not be fetched, before they are fetched again.
    mutating func beginPull() { pullFailure = nil }

    /// Records that commits could not be fetched or put; the first reason stays.
    mutating func pullFailed(_ error: SyncError) { pullFailure = pullFailure ?? error }
}
