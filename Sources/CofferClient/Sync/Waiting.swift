internal import CofferSystem
internal import Synchronization

/// Runs tasks for threads that block until they end, such as commands and readers of content at a remote.
///
/// Must not be called on a thread of Swift's pool, which has few threads.
enum Waiting {
    /// Runs `body` as a task, and blocks until it ends.
    static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () async throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let result = Condition<Result<Value, Failure>?>(nil)
        Task.detached {
            let value: Result<Value, Failure>
            do throws(Failure) { value = .success(try await body()) } catch { value = .failure(error) }
            result.update { $0 = value }
        }
        return try result.wait { $0 }.get()
    }

    /// Runs `body` as a task, and blocks for at most `nanoseconds`; nil after that, while `body` continues.
    static func run<Value: Sendable>(
        atMost nanoseconds: Int64, _ body: @escaping @Sendable () async -> Value
    ) -> Value? {
        let result = Condition<Value?>(nil)
        Task.detached {
            let value = await body()
            result.update { $0 = value }
        }
        return result.wait(nanoseconds: nanoseconds) { $0 }
    }
}
