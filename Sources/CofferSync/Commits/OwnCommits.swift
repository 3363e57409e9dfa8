internal import CofferFormat

/// What a device knows of its own commits at the remote.
struct OwnCommits: Sendable {
    /// The most bytes of commits that the device keeps; beyond that it drops the oldest, but never the last
    /// one.
    static let byteCountMax = 16 << 20
    /// The interval at which the whole log is listed if nothing else asks for it, in milliseconds: 5 minutes.
    static let pause: UInt64 = 300_000
    /// The most commits missing at the end of the log before the remote counts as rolled back.
    static let endCountMax = 3
    /// The most lost commits that are dealt with in one round.
    static let countMax = 64

    /// The commits that were put and whose bytes are kept, by number, with their sizes in bytes.
    var kept: [UInt64: Int] = [:]
    /// The remote's listing of the log, until it has been compared with the commits that were put.
    var listing: OwnLogListing?
    /// The time of the last comparison, in milliseconds.
    var comparedAt: UInt64 = 0
    /// Whether more is missing at the end of the log than a storage loses by accident.
    var isEndLost = false
    /// The last commit that was dealt with, so that each of many gets its turn.
    private var turn: UInt64 = 0
    /// Commits that the remote has lost, and whose bytes are no longer kept.
    var lost: [UInt64] = []

    /// Returns the next batch of lost commits to deal with.
    ///
    /// - Parameter wanted: All lost commits, in ascending order.
    mutating func takeTurn(_ wanted: [UInt64]) -> [UInt64] {
        let start = wanted.firstIndex { $0 > turn } ?? 0
        let batch = Array((wanted[start...] + wanted[..<start]).prefix(Self.countMax))
        turn = batch.last ?? 0
        return batch
    }

    /// The oldest kept commits, which have to be dropped to keep another one of this size.
    func tooMany(with byteCount: Int) -> [UInt64] {
        var sum = byteCount + kept.values.reduce(0, +)
        guard sum > Self.byteCountMax else { return [] }
        var old: [UInt64] = []
        for (sequence, byteCount) in kept.sorted(by: { $0.key < $1.key }) where sum > Self.byteCountMax {
            old.append(sequence)
            sum -= byteCount
        }
        return old
    }
}

/// The remote's listing of a device's own log.
struct OwnLogListing: Sendable {
    /// The last commit that a checkpoint covers: commits up to this one may be gone.
    let covered: UInt64
    /// The last commit that was put.
    let last: UInt64
    /// The size in bytes of each listed commit between the two.
    private(set) var byteCounts: [UInt64: Int] = [:]

    init(covered: UInt64, last: UInt64) {
        (self.covered, self.last) = (covered, last)
    }

    /// Records a listed commit.
    mutating func note(_ sequence: UInt64, _ byteCount: Int) {
        guard covered < sequence, sequence <= last else { return }
        byteCounts[sequence] = byteCount
    }

    /// Commits that are not listed, or with another size than they were put with, in order.
    ///
    /// - Parameter kept: The sizes of commits as they were put, as far as they are known.
    func missing(_ kept: [UInt64: Int]) -> [UInt64] {
        guard covered < last else { return [] }
        return (covered + 1...last).filter { sequence in
            guard let listed = byteCounts[sequence] else { return true }
            return kept[sequence].map { $0 != listed } ?? false
        }
    }

    /// The last commit that is listed.
    var end: UInt64 { byteCounts.keys.max() ?? covered }
}
