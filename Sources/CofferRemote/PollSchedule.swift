/// When to poll for changes that nothing reports: soon after a change, then less and less often.
package struct PollSchedule: Equatable, Sendable {
    /// From five seconds after a change, up to five minutes.
    package static let standard = PollSchedule(first: 5000, max: 300_000)

    /// Milliseconds until the next look.
    package private(set) var pause: Int32
    private let first: Int32
    private let max: Int32

    /// Makes a schedule.
    ///
    /// - Parameters:
    ///   - first: Milliseconds from a change to the next look.
    ///   - max: Milliseconds between looks at most.
    package init(first: Int32, max: Int32) {
        precondition(first > 0 && first <= max && max < .max / 2)
        pause = first
        self.first = first
        self.max = max
    }

    /// Sets the pause after a poll.
    package mutating func looked(hasChanged: Bool) {
        pause = hasChanged ? first : min(max, pause + pause / 2 + 1)
    }
}
