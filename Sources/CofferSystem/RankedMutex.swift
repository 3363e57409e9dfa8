public import Synchronization

/// A `Mutex` with a place in the order of locks, which debug builds check.
///
/// Unlike that of `Mutex`, the state need not be sendable: as under a `Condition`, the caller must keep
/// nothing of it that is not. Public, like `Condition`, so that it is inlined.
public struct RankedMutex<State: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline
    struct Guarded: ~Copyable, Sendable {
        // SAFETY: only `withLock` reaches the state, through `mutex`, so one thread at a time uses it. The compiler
        // cannot see that it may pass between threads, as its type need not be sendable: `init` takes it over for
        // good (`sending`), and `withLock` lends it for the time of one call.
        @usableFromInline nonisolated(unsafe) var state: State

        @usableFromInline
        init(_ state: consuming State) { unsafe self.state = state }
    }

    @usableFromInline let mutex: Mutex<Guarded>
    #if DEBUG
    @usableFromInline let rank: LockRank
    #endif

    /// Takes over the state, which is accessible only under the lock from now on.
    public init(_ state: consuming sending State, rank: LockRank) {
        mutex = Mutex(Guarded(state))
        #if DEBUG
        self.rank = rank
        #endif
    }

    /// Runs `body` with the lock held.
    @inlinable
    public borrowing func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG
        rank.take()
        defer { rank.leave() }
        #endif
        return try mutex.withLock { guarded throws(Failure) in unsafe try body(&guarded.state) }
    }
}
