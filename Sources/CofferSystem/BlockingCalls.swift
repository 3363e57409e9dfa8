internal import Synchronization

/// Runs blocking calls for tasks, in order, on a bounded number of threads of its own.
///
/// Swift's pool has only one thread per processor, and none of them may wait for a disk, a lock, or a server.
package final class BlockingCalls: Sendable {
    private let workers: Workers
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    /// - Parameters:
    ///   - name: The name of the threads, for ps(1); up to 15 bytes.
    ///   - threadCountMax: The largest number of threads at a time; with one, calls run one after the other.
    package init(_ name: String, max threadCountMax: Int) {
        workers = Workers(name, max: threadCountMax)
    }

    /// Runs `body` on one of the threads, once one is free.
    package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await perform(BlockingCall(body)).get()
    }

    /// Runs `body` on one of the threads, once one is free; a cancelled task continues at once.
    ///
    /// A call that has already begun runs to its end, and its result is dropped.
    ///
    /// - Parameters:
    ///   - cancelled: The error that a cancelled task gets.
    ///   - onCancel: Ends the call soon, if it can.
    package func run<Value: Sendable, Failure: Error>(
        ifCancelled cancelled: Failure, _ body: @escaping @Sendable () throws(Failure) -> Value,
        onCancel: @escaping @Sendable () -> Void = {}
    ) async throws(Failure) -> Value {
        let call = BlockingCall(body)
        let result = await withTaskCancellationHandler {
            await perform(call)
        } onCancel: {
            call.answer(.failure(cancelled))
            onCancel()
        }
        return try result.get()
    }

    private func perform<Value: Sendable, Failure: Error>(
        _ call: BlockingCall<Value, Failure>
    ) async -> Result<Value, Failure> {
        await withCheckedContinuation { continuation in
            guard call.wait(continuation) else { return }
            waiting.withLock { $0.append { call.perform() } }
            // If no thread can be started, the calls run on the thread of the caller: late is better than never.
            if !workers.call({ [self] in performOne() }, leaving: {}) { while performOne() {} }
        }
    }

    private func performOne() -> Bool {
        let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next else { return false }
        next()
        return true
    }
}

/// One call, and the task that waits for it.
private final class BlockingCall<Value: Sendable, Failure: Error>: Sendable {
    typealias Continuation = CheckedContinuation<Result<Value, Failure>, Never>

    private enum State {
        case idle
        case waiting(Continuation)
        case answered(Result<Value, Failure>)
    }

    private let state = Mutex(State.idle)
    private let body: @Sendable () throws(Failure) -> Value

    init(_ body: @escaping @Sendable () throws(Failure) -> Value) {
        self.body = body
    }

    /// Registers the waiting task; returns false, and resumes it, if the call was cancelled before.
    func wait(_ continuation: Continuation) -> Bool {
        let early: Result<Value, Failure>? = state.withLock { state in
            if case .answered(let result) = state { return result }
            state = .waiting(continuation)
            return nil
        }
        guard let early else { return true }
        continuation.resume(returning: early)
        return false
    }

    func perform() {
        guard state.withLock({ if case .waiting = $0 { true } else { false } }) else { return }
        do throws(Failure) { answer(.success(try body())) } catch { answer(.failure(error)) }
    }

    /// Answers the task; does nothing if it was answered before.
    func answer(_ result: Result<Value, Failure>) {
        let continuation: Continuation? = state.withLock { state in
            switch state {
            case .idle:
                state = .answered(result)
                return nil
            case .waiting(let continuation):
                state = .answered(result)
                return continuation
            case .answered: return nil
            }
        }
        continuation?.resume(returning: result)
    }
}
