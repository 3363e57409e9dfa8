internal import CofferSystem

/// Runs calls that block, one after the other, on a thread of its own.
///
/// Swift's pool has as many threads as there are processors; none of them may wait for a disk or a lock.
final class BlockingThread: Sendable {
    private let workers: Workers
    private let waiting = Condition<[@Sendable () -> Void]>([])

    /// - Parameter name: Of the thread, for ps(1); up to 15 bytes.
    init(_ name: String) {
        workers = Workers(name, max: 1)
    }

    /// Runs `body` on the thread, once what came before is done.
    func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            waiting.withLock {
                $0.append {
                    do throws(Failure) {
                        continuation.resume(returning: .success(try body()))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
            // Where no thread can be started, it is done here: late is better than never.
            if !workers.call({ [self] in performOne() }, leaving: {}) { while performOne() {} }
        }
        return try result.get()
    }

    private func performOne() -> Bool {
        let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next else { return false }
        next()
        return true
    }
}

/// A task whose result a thread waits for that is none of Swift's pool.
struct AwaitedTask<Value: Sendable>: Sendable {
    private let result = Condition<Value?>(nil)
    private let task: Task<Void, Never>

    /// Starts the task.
    init(_ body: @escaping @Sendable () async -> Value) {
        let result = result
        task = Task.detached {
            let value = await body()
            result.update { $0 = value }
        }
    }

    /// Has the task end soon.
    func cancel() { task.cancel() }

    /// Blocks until the task is done.
    func wait() -> Value { result.wait { $0 } }

    /// Blocks until the task is done, but not longer than some time; nil when that is over.
    func wait(nanoseconds: Int64) -> Value? { result.wait(nanoseconds: nanoseconds) { $0 } }
}
