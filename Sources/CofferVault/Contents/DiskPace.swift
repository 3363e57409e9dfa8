internal import CofferSystem
internal import Synchronization

/// Whether reads of this vault have had to wait for the disk for long, lately.
///
/// On a fast disk, a thread that waits is served sooner than one that hands its request to another thread. On
/// a slow one, others must not wait for it.
final class DiskPace: Sendable {
    /// The duration from which a read counts as slow, in nanoseconds.
    private static let slow: Int64 = 2_000_000
    /// How long the disk counts as slow after such a read, in nanoseconds.
    private static let memory: Int64 = 5_000_000_000

    private let slowUntil = Atomic<Int64>(0)

    /// Records a read that began at `start`, by the monotonic clock.
    func note(since start: Int64) {
        let now = Clock.monotonic
        if now - start >= Self.slow { slowUntil.store(now + Self.memory, ordering: .relaxed) }
    }

    /// Whether a read may have to wait for long.
    var isSlow: Bool {
        let until = slowUntil.load(ordering: .relaxed)
        return until != 0 && Clock.monotonic < until
    }
}
