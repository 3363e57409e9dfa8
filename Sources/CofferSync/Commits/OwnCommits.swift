internal import CofferFormat

/// What a device knows of its own commits that are at the remote.
struct OwnCommits: Sendable {
    /// The most bytes of them that are kept on the device; beyond that the oldest go, but never the last one.
    static let byteCountMax = 16 << 20
    /// How often the whole log is listed where nothing asks for it, in milliseconds: 5 minutes.
    static let pause: UInt64 = 300_000
    /// How many commits at the end of the log may be gone before the remote counts as rolled back.
    static let endCountMax = 3
    /// The most commits that are looked after in one round.
    static let countMax = 64

    /// The commits that were put and whose bytes are kept, by number: how many bytes each has.
    var kept: [UInt64: Int] = [:]
    /// What the remote lists of the log, until it was compared with what was put.
    var listing: OwnLogListing?
    /// When that was last compared, in milliseconds.
    var comparedAt: UInt64 = 0
    /// Whether more is missing at the end of the log than a storage loses by itself.
    var isEndLost = false
    /// The last commit that was looked after, so that of many all have their turn.
    private var turn: UInt64 = 0
    /// Commits that the remote has lost, and whose bytes are not kept any more.
    var lost: [UInt64] = []

    /// The next batch of commits to look after, of some in ascending order.
    mutating func takeTurn(_ wanted: [UInt64]) -> [UInt64] {
        let start = wanted.firstIndex { $0 > turn } ?? 0
        let batch = Array((wanted[start...] + wanted[..<start]).prefix(Self.countMax))
        turn = batch.last ?? 0
        return batch
    }

    /// The oldest of those that are kept, which are too many once another one is kept, too.
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

/// What the remote lists of a device's own log.
struct OwnLogListing: Sendable {
    /// What a checkpoint covers: the commits up to this one may be gone.
    let covered: UInt64
    /// The last commit that was put.
    let last: UInt64
    /// The bytes of each commit between the two that is listed.
    private(set) var byteCounts: [UInt64: Int] = [:]

    init(covered: UInt64, last: UInt64) {
        (self.covered, self.last) = (covered, last)
    }

    /// Takes note of a commit that is listed.
    mutating func note(_ sequence: UInt64, _ byteCount: Int) {
        guard covered < sequence, sequence <= last else { return }
        byteCounts[sequence] = byteCount
    }

    /// Commits that are not listed, or not as they were put, in order.
    ///
    /// - Parameter kept: Bytes of commits as they were put, as far as that is known.
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
