internal import CofferSystem

/// A task whose result a thread outside Swift's pool waits for, such as that of a command or of a reader of
/// content at a remote.
///
/// A thread of the pool, which has few, must not wait.
struct AwaitedTask<Value: Sendable, Failure: Error>: Sendable {
    private let result = Condition<Result<Value, Failure>?>(nil)
    private let task: Task<Void, Never>

    /// Starts the task.
    init(_ body: @escaping @Sendable () async throws(Failure) -> Value) {
        let result = result
        task = Task.detached {
            let value: Result<Value, Failure>
            do throws(Failure) { value = .success(try await body()) } catch { value = .failure(error) }
            result.update { $0 = value }
        }
    }

    /// Cancels the task.
    func cancel() { task.cancel() }

    /// Blocks until the task is done.
    func wait() throws(Failure) -> Value {
        try DebugLog.waiting(for: .remote) { result.wait { $0 } }.get()
    }

    /// Blocks until the task is done; nil after a timeout, while the task continues.
    func wait(nanoseconds: Int64) throws(Failure) -> Value? {
        try DebugLog.waiting(for: .remote) { result.wait(nanoseconds: nanoseconds) { $0 } }?.get()
    }
}
