internal import CofferSystem
internal import Synchronization

/// Runs blocking calls for tasks on a bounded number of threads of its own.
///
/// Swift's pool has only one thread per processor, so a server that does not answer could block all of them.
/// A cancelled task continues at once; a call that has already begun runs to its end, and its result is
/// dropped.
final class BlockingCalls: Sendable {
    private let workers: Workers
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    init(_ name: String, max threadCountMax: Int) {
        workers = Workers(name, max: threadCountMax)
    }

    /// Runs `body` on one of the threads, once one is free.
    ///
    /// - Throws: What `body` throws; `.cancelled`.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(RemoteError) -> Value
    ) async throws(RemoteError) -> Value {
        let call = BlockingCall(body)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard call.wait(continuation) else { return }
                waiting.withLock { $0.append { call.perform() } }
                // If no thread can be started, this thread makes the calls: late is better than never.
                if !workers.call({ [self] in performOne() }, leaving: {}) { while performOne() {} }
            }
        } onCancel: {
            call.cancel()
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

/// One call, and the task that waits for it.
private final class BlockingCall<Value: Sendable>: Sendable {
    private typealias Continuation = CheckedContinuation<Result<Value, RemoteError>, Never>

    private enum State {
        case idle
        case waiting(Continuation)
        case answered
    }

    private let state = Mutex(State.idle)
    private let body: @Sendable () throws(RemoteError) -> Value

    init(_ body: @escaping @Sendable () throws(RemoteError) -> Value) {
        self.body = body
    }

    /// Registers the waiting task; returns false if the call was cancelled before, and resumes the task at
    /// once.
    func wait(_ continuation: CheckedContinuation<Result<Value, RemoteError>, Never>) -> Bool {
        let isWaiting = state.withLock { state in
            guard case .idle = state else { return false }
            state = .waiting(continuation)
            return true
        }
        if !isWaiting { continuation.resume(returning: .failure(.cancelled)) }
        return isWaiting
    }

    func cancel() { answer(.failure(.cancelled)) }

    func perform() {
        guard state.withLock({ if case .waiting = $0 { true } else { false } }) else { return }
        do throws(RemoteError) { answer(.success(try body())) } catch { answer(.failure(error)) }
    }

    private func answer(_ result: Result<Value, RemoteError>) {
        let continuation: Continuation? = state.withLock { state in
            defer { state = .answered }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
        continuation?.resume(returning: result)
    }
}
