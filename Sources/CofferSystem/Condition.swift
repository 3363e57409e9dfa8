public import Glibc

/// A lock that threads can wait on: it guards a state, and lets threads sleep until the state changes.
///
/// A pthread_mutex_t with a pthread_cond_t, since the standard library's `Mutex` cannot wait. Where no thread
/// waits, use `Mutex` or `RankedMutex`. Public, because the compiler does not inline `package` functions into other
/// modules.
@safe
// SAFETY: every access to `state` is made while `mutex` is held, in this file; others see it only as the `inout`
// argument of a closure. The two pthread objects live at a fixed address from init to deinit.
public final class Condition<State: ~Copyable>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let signal: UnsafeMutablePointer<pthread_cond_t>
    @usableFromInline var state: State
    #if DEBUG
    @usableFromInline let rank: LockRank?
    #endif

    /// Takes over the state, which is accessible only under the lock from now on.
    ///
    /// - Parameter rank: The lock's place in the order of locks, which debug builds check; nil for none.
    public init(_ state: consuming sending State, rank: LockRank? = nil) {
        self.state = state
        #if DEBUG
        self.rank = rank
        #endif
        unsafe mutex = .allocate(capacity: 1)
        unsafe signal = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(signal, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(signal)
        unsafe pthread_mutex_destroy(mutex)
        unsafe signal.deallocate()
        unsafe mutex.deallocate()
    }

    @inlinable
    func lock() {
        #if DEBUG
        rank?.take()
        #endif
        unsafe pthread_mutex_lock(mutex)
    }

    @inlinable
    func unlock() {
        unsafe pthread_mutex_unlock(mutex)
        #if DEBUG
        rank?.leave()
        #endif
    }

    /// Runs `body` with the lock held.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body(&state)
    }

    /// Runs `body` with the lock held, then wakes all waiting threads.
    @inlinable
    public func update<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { unsafe pthread_cond_broadcast(signal) }
        return try withLock(body)
    }

    /// Waits until `body` returns a value other than nil, and returns it.
    ///
    /// `body` runs with the lock held: at once, and whenever the thread is woken.
    @inlinable
    public func wait<Result>(for body: (inout State) -> Result?) -> Result {
        lock()
        defer { unlock() }
        while true {
            if let result = body(&state) { return result }
            unsafe pthread_cond_wait(signal, mutex)
        }
    }

    /// Like `wait(for:)`, but for at most `nanoseconds`; nil if `body` has returned nil until then.
    public func wait<Result>(nanoseconds: Int64, for body: (inout State) -> Result?) -> Result? {
        let end = Clock.monotonic + nanoseconds
        var deadline = timespec(
            tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
        lock()
        defer { unlock() }
        while true {
            if let result = body(&state) { return result }
            if unsafe pthread_cond_timedwait(signal, mutex, &deadline) == ETIMEDOUT { return body(&state) }
        }
    }
}
