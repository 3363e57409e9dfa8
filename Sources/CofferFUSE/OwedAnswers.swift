internal import CofferSystem
internal import Synchronization

/// The requests that were received and are not answered yet, and fences behind all that the kernel has sent.
///
/// The kernel writes cached pages without anybody who waits for them: syncfs(2) returns while they are on their way
/// (since Linux 6.18; before, it waited for copies of them). They are certainly stored only once the kernel had no
/// further request while every one before was answered. Of the requests that it holds back, it sends the next one
/// before an answer has been taken.
final class OwedAnswers: Sendable {
    private struct Fences {
        var last = 0
        var passed = 0
        /// The number of threads that wait.
        var waiters = 0
        var isOver = false
    }

    private let count = Atomic(0)
    private let isAwaited = Atomic(false)
    private let fences = Condition(Fences(), rank: .leaf)

    // MARK: The serving thread

    /// Whether every request that was received is answered.
    var isEmpty: Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

    /// The latest fence, which is passed if the kernel has no request now; nil if nobody waits for one.
    ///
    /// Ask before the read.
    var fence: Int? {
        guard hasWaiters, isEmpty else { return nil }
        return fences.withLock { $0.last }
    }

    /// Notes that the kernel had no request after `fence` was asked for.
    func pass(_ fence: Int) {
        fences.update { fences in
            fences.passed = max(fences.passed, fence)
            if fences.passed == fences.last { isAwaited.store(false, ordering: .sequentiallyConsistent) }
        }
    }

    /// Notes a request that needs an answer.
    func add() { count.add(1, ordering: .sequentiallyConsistent) }

    /// Passes no fence any more.
    func end() { fences.update { $0.isOver = true } }

    // MARK: Any thread

    /// Notes an answer that the kernel has taken.
    ///
    /// - Returns: Whether no other is owed.
    func remove() -> Bool { count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 }

    /// Whether somebody waits for a fence.
    var hasWaiters: Bool { isAwaited.load(ordering: .sequentiallyConsistent) }

    /// Waits until everything is answered that the kernel has sent before.
    ///
    /// - Parameter wake: Wakes the serving thread.
    /// - Returns: False if that took too long, or the mount has ended.
    func wait(nanoseconds: Int64, wake: () -> Void) -> Bool {
        let fence = fences.withLock { fences in
            fences.last += 1
            fences.waiters += 1
            isAwaited.store(true, ordering: .sequentiallyConsistent)
            return fences.last
        }
        wake()
        let isPassed: Bool? = fences.wait(nanoseconds: nanoseconds) { fences in
            fences.passed >= fence ? true : fences.isOver ? false : nil
        }
        fences.withLock { fences in
            fences.waiters -= 1
            // After a time-out, each answer would wake the serving thread in vain.
            if fences.waiters == 0 { isAwaited.store(false, ordering: .sequentiallyConsistent) }
        }
        return isPassed ?? false
    }
}
