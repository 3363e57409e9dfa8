/// Names a commit; with a register, the value that this commit put there.
///
/// A commit has at most one fact for each register, so that no index within the commit is needed.
package struct Dot: Hashable, Comparable, Sendable {
    /// The highest number that a commit can have, 2^62: who reads a number can count on from it.
    package static let sequenceMax: UInt64 = 1 << 62

    /// Whose commit it is.
    package let log: LogID
    /// Which of the log's commits; counted from 1.
    package let sequence: UInt64

    package init(log: LogID, sequence: UInt64) {
        self.log = log
        self.sequence = sequence
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.log, left.sequence) < (right.log, right.sequence)
    }
}

/// When a commit was made, in an order that is total and the same everywhere.
///
/// Where one commit was made with knowledge of another, its stamp is higher, whatever the clocks of the devices
/// say (Kulkarni et al., "Logical Physical Clocks", 2014).
package struct Stamp: Hashable, Comparable, Sendable {
    /// Hybrid logical clock: milliseconds since 1970 in the upper 48 bits, a counter in the lower 16.
    package let clock: UInt64
    /// The commit.
    package let dot: Dot

    package init(clock: UInt64, dot: Dot) {
        self.clock = clock
        self.dot = dot
    }

    /// Milliseconds since 1970.
    package var milliseconds: UInt64 { clock >> 16 }

    package static func < (left: Self, right: Self) -> Bool {
        (left.clock, left.dot) < (right.clock, right.dot)
    }

    /// The clock of a commit that follows others.
    ///
    /// - Parameters:
    ///   - milliseconds: What the device's clock says, since 1970.
    ///   - seen: The highest clock of all commits that were applied. At the end of all clocks it stays there.
    package static func clock(milliseconds: UInt64, after seen: UInt64) -> UInt64 {
        let now = milliseconds >= 1 << 48 ? UInt64.max : milliseconds << 16
        return max(now, seen == UInt64.max ? seen : seen + 1)
    }
}

/// Which commits of every log were applied: of each log all up to one.
package struct VersionVector: Equatable, Sendable {
    /// The last commit of each log; logs without one are left out.
    package private(set) var sequences: [LogID: UInt64] = [:]

    /// No commits.
    package init() {}

    /// The commits up to some bounds.
    package init(_ bounds: LogBounds) {
        for bound in bounds.bounds { self[bound.log] = bound.sequence }
    }

    /// The last commit of a log; 0 if there is none.
    package subscript(log: LogID) -> UInt64 {
        get { sequences[log] ?? 0 }
        set { sequences[log] = newValue == 0 ? nil : newValue }
    }

    /// Whether a commit is among them.
    package func contains(_ dot: Dot) -> Bool {
        dot.sequence > 0 && dot.sequence <= self[dot.log]
    }

    /// A log of which another vector has more; nil if this one has all that the other has.
    package func firstMissing(of other: VersionVector) -> LogID? {
        other.sequences.filter { $0.value > self[$0.key] }.map(\.key).min()
    }
}
