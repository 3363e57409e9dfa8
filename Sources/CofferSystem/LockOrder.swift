#if DEBUG
internal import CCofferSystem
internal import Glibc
#endif

/// The place of a lock in the order of all locks: a thread that holds a lock takes only locks of later ranks.
///
/// docs/architecture.md, "Locks", says what each lock guards, and what may happen while a thread holds it. No
/// thread holds two locks of one rank. Debug builds end the process when a thread breaks the order.
public enum LockRank: UInt8, CaseIterable, Sendable {
    /// `Vault.exchanging`.
    case exchange
    /// `Vault.evicting`.
    case eviction
    /// `Vault.committing`.
    case commit
    /// `Vault.state`.
    case vaultState
    /// `IndexLog.connection`.
    case checkpoint
    /// `ReadAhead.shared`.
    case readAhead
    /// `RemoteReads.shared`.
    case remoteReads
    /// A lock of one value; no other lock is taken while a thread holds it.
    case leaf
}

#if DEBUG
extension LockRank {
    /// Records that the calling thread is about to take a lock of this rank.
    @usableFromInline
    func take() {
        let held = coffer_held_lock_ranks()
        guard held >> UInt64(rawValue) == 0 else {
            let others = Self.allCases.filter { held & $0.bit != 0 }
            var text = "a lock of rank \(self) is taken while the thread holds locks of \(others)\n"
            // Optimized code does not print the text of a precondition.
            text.withUTF8 { _ = unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
            preconditionFailure(text)
        }
        coffer_set_held_lock_ranks(held | bit)
    }

    /// Records that the calling thread no longer holds the lock of this rank.
    @usableFromInline
    func leave() {
        coffer_set_held_lock_ranks(coffer_held_lock_ranks() & ~bit)
    }

    private var bit: UInt64 { 1 << UInt64(rawValue) }
}
#endif
