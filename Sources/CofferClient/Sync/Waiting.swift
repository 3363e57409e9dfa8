internal import CofferSystem
internal import Synchronization

/// Runs tasks for threads that wait for them: commands, and those who read what is still at a remote.
///
/// Never to be called on a thread of Swift's pool, which has few.
enum Waiting {
    /// Runs `body` as a task, and waits for its end.
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

    /// As `run`, for at most `nanoseconds`; nil when the time is over, while `body` goes on.
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
