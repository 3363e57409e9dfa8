package import Glibc

/// A lock with waiting: the state it protects, and threads that sleep until it changes.
///
/// `Mutex` of the standard library cannot wait. As pthread_mutex_t with pthread_cond_t.
@safe
// SAFETY: every access to `state` is made while `mutex` is held; the two pthread objects live at a
// fixed address from init to deinit.
package final class Condition<State>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let signal: UnsafeMutablePointer<pthread_cond_t>
    @usableFromInline var state: State

    /// Takes over the state, which is seen under the lock only from now on.
    package init(_ state: sending State) {
        self.state = state
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

    /// Runs `body` with the lock held.
    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Runs `body` with the lock held, then wakes all who wait.
    @inlinable
    package func update<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { unsafe pthread_cond_broadcast(signal) }
        return try withLock(body)
    }

    /// Waits until `body` answers other than nil, and returns that.
    ///
    /// Runs `body` with the lock held.
    @inlinable
    package func wait<Result>(for body: (inout State) -> Result?) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            unsafe pthread_cond_wait(signal, mutex)
        }
    }

    /// As `wait(for:)`, but for at most `nanoseconds`; nil when the time is over.
    package func wait<Result>(nanoseconds: Int64, for body: (inout State) -> Result?) -> Result? {
        let end = Clock.monotonic + nanoseconds
        var deadline = timespec(
            tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            if unsafe pthread_cond_timedwait(signal, mutex, &deadline) == ETIMEDOUT { return body(&state) }
        }
    }
}
