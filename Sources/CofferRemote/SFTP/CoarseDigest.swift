internal import CofferSystem
internal import Synchronization

/// Digests of listings whose times are whole seconds: an object that is replaced within the same second as it was put,
/// by one of the same size, looks the same.
///
/// So after each change, the next digest differs as well, and all within two seconds.
final class CoarseDigest: Sendable {
    private struct State {
        var last: [UInt8]?
        var changed: Int64 = 0
        var isSettled = true
        var count: UInt64 = 0
    }

    /// How long a replacement may look the same, in nanoseconds.
    private static let span: Int64 = 2_000_000_000

    private let state = Mutex(State())

    /// What to compare in the place of a digest.
    func told(_ digest: [UInt8]) -> [UInt8] {
        state.withLock { state in
            let now = Clock.monotonic
            if digest != state.last {
                state.last = digest
                state.changed = now
                state.isSettled = false
                state.count += 1
            } else if !state.isSettled {
                state.isSettled = now - state.changed > Self.span
                state.count += 1
            }
            return digest + Array("\(state.count)".utf8)
        }
    }
}
