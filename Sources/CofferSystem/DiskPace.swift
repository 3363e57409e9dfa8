internal import Synchronization

/// Whether reads of a vault have had to wait for the disk for long, lately.
///
/// On a fast disk, a thread that waits is served sooner than one that hands its request to another thread. On
/// a slow one, others must not wait for it.
package final class DiskPace: Sendable {
    /// The duration from which a read counts as slow, in nanoseconds.
    private static let slow: Int64 = 2_000_000
    /// How long the disk counts as slow after such a read, in nanoseconds.
    private static let memory: Int64 = 5_000_000_000

    private let slowUntil = Atomic<Int64>(0)

    /// Begins with a disk that counts as fast.
    package init() {}

    /// Records a read that began at `start`, by the monotonic clock.
    package func note(since start: Int64) {
        if Clock.monotonic - start >= Self.slow { noteSlow(for: Self.memory) }
    }

    /// Makes the disk count as slow, for so many nanoseconds at least.
    package func noteSlow(for duration: Int64) {
        slowUntil.max(Clock.monotonic + duration, ordering: .relaxed)
    }

    /// Whether a read may have to wait for long.
    package var isSlow: Bool {
        let until = slowUntil.load(ordering: .relaxed)
        return until != 0 && Clock.monotonic < until
    }
}
