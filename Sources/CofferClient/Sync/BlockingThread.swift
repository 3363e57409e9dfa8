internal import CofferSystem

/// Runs blocking calls one after the other on its own thread.
///
/// Swift's thread pool has one thread per processor, and none of them may wait for a disk or a lock.
final class BlockingThread: Sendable {
    private let workers: Workers
    private let waiting = Condition<[@Sendable () -> Void]>([])

    /// - Parameter name: The name of the thread in ps(1); up to 15 bytes.
    init(_ name: String) {
        workers = Workers(name, max: 1)
    }

    /// Runs `body` on the thread, after all calls before it.
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
            // If no thread can be started, the calls run on the thread of the caller.
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

/// A task whose result a thread outside Swift's pool waits for.
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

    /// Cancels the task.
    func cancel() { task.cancel() }

    /// Blocks until the task is done.
    func wait() -> Value { result.wait { $0 } }

    /// Blocks until the task is done; nil after a timeout.
    func wait(nanoseconds: Int64) -> Value? { result.wait(nanoseconds: nanoseconds) { $0 } }
}
