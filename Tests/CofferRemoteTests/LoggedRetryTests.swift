import CofferRemote
import CofferSystem
import RemoteConformance
import Synchronization
import Testing

/// What the debug log tells of calls that are repeated; in processes of their own, as a process has one log.
@Suite struct LoggedRetryTests {
    /// Each failed attempt has a line with its reason and the pause after it, and no name.
    @Test func failedAttempts() async throws {
        await #expect(processExitsWith: .success) {
            let remote = RetryingRemote(
                FailingListings([
                    .unreachable("https://ann@example.org/secret"), .failed("secret"),
                    .busy(after: .seconds(9)), .short(expected: 5, got: 3),
                ]), clock: SteppingClock(), random: { 1 })
            let lines = try await logged { _ = try await remote.list(.all, after: nil) }
            #expect(
                lines == [
                    "warning: attempt 1 failed: unreachable; pause of 500.0 ms",
                    "warning: attempt 2 failed: failed; pause of 1000.0 ms",
                    "warning: attempt 3 failed: busy for 9000.0 ms; pause of 11000.0 ms",
                    "warning: attempt 4 failed: 3 of 5 bytes; pause of 4000.0 ms",
                ])
        }
    }

    /// A failure that is not followed by another attempt has no line.
    @Test func failuresThatAreFinal() async throws {
        await #expect(processExitsWith: .success) {
            let refused = RetryingRemote(FailingListings([.refused("secret")]), clock: SteppingClock())
            let lines = try await logged {
                await #expect(throws: RemoteError.refused("secret")) {
                    try await refused.list(.all, after: nil)
                }
            }
            #expect(lines.isEmpty, "\(lines)")
            var policy = RetryPolicy()
            policy.deadline = .milliseconds(600)
            let failing = FailingListings([.failed("one"), .failed("two")])
            let remote = RetryingRemote(failing, policy, clock: SteppingClock(), random: { 1 })
            let last = try await logged {
                await #expect(throws: RemoteError.failed("two")) { try await remote.list(.all, after: nil) }
            }
            #expect(last == ["warning: attempt 1 failed: failed; pause of 500.0 ms"])
        }
    }
}

/// The lines on remotes that `body` logs.
private func logged(_ body: () async throws -> Void) async throws -> [String] {
    let lines = Condition<[String]>([])
    DebugLog.start(.warning) { level, subject, text in
        if subject == .remote { lines.withLock { $0.append("\(level): \(text)") } }
    }
    defer { DebugLog.stop() }
    try await body()
    return lines.withLock { $0 }
}
