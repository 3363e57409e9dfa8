/// Identifies a commit and, with a register, the value that the commit put there.
///
/// A commit has at most one fact for each register, so no index within the commit is needed.
package struct Dot: Hashable, Comparable, Sendable {
    /// The highest sequence that a commit can have: 2^62, so that code that has read a sequence can count on
    /// from it.
    package static let sequenceMax: UInt64 = 1 << 62

    /// The log of the commit.
    package let log: LogID
    /// The number of the commit in its log, counted from 1.
    package let sequence: UInt64

    package init(log: LogID, sequence: UInt64) {
        self.log = log
        self.sequence = sequence
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.log, left.sequence) < (right.log, right.sequence)
    }
}

/// The time of a commit, in a total order that is the same on every device.
///
/// If the author of one commit knew of another, its stamp is higher, whatever the clocks of the devices say
/// (Kulkarni et al., "Logical Physical Clocks", 2014).
package struct Stamp: Hashable, Comparable, Sendable {
    /// Hybrid logical clock: milliseconds since 1970 in the upper 48 bits, a counter in the lower 16.
    package let clock: UInt64
    /// The commit.
    package let dot: Dot

    package init(clock: UInt64, dot: Dot) {
        self.clock = clock
        self.dot = dot
    }

    /// The upper part of the clock: milliseconds since 1970.
    package var milliseconds: UInt64 { clock >> 16 }

    package static func < (left: Self, right: Self) -> Bool {
        (left.clock, left.dot) < (right.clock, right.dot)
    }

    /// The clock of a commit that follows others.
    ///
    /// - Parameters:
    ///   - milliseconds: The time of the device's clock, since 1970.
    ///   - seen: The highest clock of all commits that were applied or made. The highest possible clock does
    ///     not increase any more.
    package static func clock(milliseconds: UInt64, after seen: UInt64) -> UInt64 {
        let now = milliseconds >= 1 << 48 ? UInt64.max : milliseconds << 16
        return max(now, seen == UInt64.max ? seen : seen + 1)
    }
}

/// The commits of every log that were applied: of each log, all up to one.
package struct VersionVector: Equatable, Sendable {
    /// The sequence of the last commit of each log; logs without commits are left out.
    package private(set) var sequences: [LogID: UInt64] = [:]

    /// No commits.
    package init() {}

    /// Contains the commits up to the given bounds.
    package init(_ bounds: LogBounds) {
        for bound in bounds.bounds { self[bound.log] = bound.sequence }
    }

    /// The sequence of the last commit of a log; 0 if there is none.
    package subscript(log: LogID) -> UInt64 {
        get { sequences[log] ?? 0 }
        set { sequences[log] = newValue == 0 ? nil : newValue }
    }

    /// Whether a commit is among these.
    package func contains(_ dot: Dot) -> Bool {
        dot.sequence > 0 && dot.sequence <= self[dot.log]
    }

    /// The lowest log of which `other` has commits that are missing here; nil if there is none.
    package func firstMissing(of other: VersionVector) -> LogID? {
        other.sequences.filter { $0.value > self[$0.key] }.map(\.key).min()
    }
}
