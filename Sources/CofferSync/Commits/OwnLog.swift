internal import CofferCrypto
internal import CofferFormat

/// This device's own log: commits that are still to be put, and what is known of those at the remote.
///
/// A commit is unsent until the device knows that the remote has it; from then on its bytes are kept, so that
/// the device can put it again if the remote loses it. No commit is both. A method that returns rows changes
/// the value as if they were saved: call it on a copy, save the rows, and then assign the copy.
struct OwnLog: Sendable {
    /// The most bytes of commits that the device keeps; beyond that it drops the oldest, but never the last
    /// one.
    static let byteCountMax = 16 << 20
    /// The interval at which the whole log is listed if nothing else asks for it, in milliseconds: 5 minutes.
    static let pause: UInt64 = 300_000
    /// The most commits missing at the end of the log before the remote counts as rolled back.
    static let endCountMax = 3
    /// The most lost commits that are dealt with in one round.
    static let countMax = 64

    /// Commits that may not be at the remote yet, by number.
    private(set) var unsent: [UInt64: [UInt8]] = [:]
    /// The commits that were put and whose bytes are kept, by number, with their sizes in bytes.
    private(set) var kept: [UInt64: Int] = [:]
    /// Whether an applied commit has to be acknowledged.
    var owesAcknowledgement = false
    /// Whether to make commits now that are put only once they name nothing on a lost side of a fork.
    var isLeavingLostSide = false

    /// Whether the end of the log was seen since the last rebuild: before that, a new commit could take the
    /// number of an existing one.
    private(set) var hasSeenEnd = true
    /// The length of the log before the rebuild.
    private var sequenceMin: UInt64 = 0

    /// The remote's listing of the log, until it has been compared with the commits that were put.
    var listing: OwnLogListing?
    /// The time of the last comparison, in milliseconds.
    private(set) var comparedAt: UInt64 = 0
    /// Whether more is missing at the end of the log than a storage loses by accident.
    private(set) var isEndLost = false
    /// The last commit that was dealt with, so that each of many gets its turn.
    private var turn: UInt64 = 0
    /// Commits that the remote has lost, and whose bytes are no longer kept.
    private(set) var lost: [UInt64] = []

    // MARK: Commits

    /// Replaces the commits by saved ones.
    ///
    /// - Parameters:
    ///   - commits: All saved commits, by number.
    ///   - hashes: The hashes of those that were put.
    mutating func restore(_ commits: [UInt64: [UInt8]], put hashes: [UInt64: [UInt8]]) {
        (unsent, kept) = ([:], [:])
        for (sequence, bytes) in commits {
            // A later commit may have the same number, for example after a restore of the storage.
            if let hash = hashes[sequence], Blake2b.hash(bytes, for: .commit) == hash {
                kept[sequence] = bytes.count
            } else {
                unsent[sequence] = bytes
            }
        }
    }

    /// Records a commit that was made and saved.
    mutating func made(_ bytes: [UInt8], sequence: UInt64) {
        unsent[sequence] = bytes
        // A commit that is remade replaces one that was put.
        kept[sequence] = nil
    }

    /// Records that a commit is at the remote, and drops the oldest ones if more bytes than allowed are kept.
    ///
    /// - Returns: The rows to save.
    mutating func sent(_ bytes: [UInt8], sequence: UInt64) -> [KeptChange] {
        unsent[sequence] = nil
        kept[sequence] = nil
        let rows = forget(tooMany(with: bytes.count))
        kept[sequence] = bytes.count
        return rows + [Self.put(sequence, bytes)]
    }

    /// Drops commits that a checkpoint covers: no device needs them any more.
    ///
    /// - Returns: The rows to save.
    mutating func forget(coveredBy covered: UInt64) -> [KeptChange] {
        forget(kept.keys.filter { $0 <= covered })
    }

    /// Drops everything that is known of the log, because another one begins.
    ///
    /// - Returns: The rows to save.
    mutating func forgetAll() -> [KeptChange] {
        let rows = Self.forgetting(Set(unsent.keys).union(kept.keys))
        var next = OwnLog()
        next.owesAcknowledgement = owesAcknowledgement
        next.isLeavingLostSide = isLeavingLostSide
        (next.hasSeenEnd, next.sequenceMin) = (hasSeenEnd, sequenceMin)
        self = next
        return rows
    }

    /// The number of the last commit that must be at the remote.
    ///
    /// - Parameter head: The number of the log's last commit.
    func lastSent(head: UInt64) -> UInt64 {
        guard let first = unsent.keys.min() else { return head }
        return min(head, first - min(first, 1))
    }

    /// The row that records that a commit was put.
    static func put(_ sequence: UInt64, _ bytes: [UInt8]) -> KeptChange {
        KeptChange(KeptRow.Key(.put, number: sequence), Blake2b.hash(bytes, for: .commit))
    }

    private static func forgetting(_ sequences: some Sequence<UInt64>) -> [KeptChange] {
        sequences.flatMap { sequence in
            [
                KeptChange(KeptRow.Key(.outgoing, number: sequence), nil),
                KeptChange(KeptRow.Key(.put, number: sequence), nil),
            ]
        }
    }

    private mutating func forget(_ sequences: [UInt64]) -> [KeptChange] {
        for sequence in sequences { kept[sequence] = nil }
        return Self.forgetting(sequences)
    }

    /// The oldest kept commits, which have to be dropped to keep another one of this size.
    private func tooMany(with byteCount: Int) -> [UInt64] {
        var sum = byteCount + kept.values.reduce(0, +)
        guard sum > Self.byteCountMax else { return [] }
        var old: [UInt64] = []
        for (sequence, byteCount) in kept.sorted(by: { $0.key < $1.key }) where sum > Self.byteCountMax {
            old.append(sequence)
            sum -= byteCount
        }
        return old
    }

    // MARK: The end of the log

    /// Whether a commit may follow the last known one, because no other can have its number.
    func mayContinue(after head: UInt64) -> Bool { hasSeenEnd && head >= sequenceMin }

    /// Records that the remote has no commit after the last known one.
    mutating func sawEnd() { hasSeenEnd = true }

    /// Makes the device look for the end of the log before it makes another commit.
    ///
    /// - Parameter head: The number of a commit that the log is known to have; nil for the last one that is
    ///   known already.
    mutating func mustSeeEnd(atLeast head: UInt64? = nil) {
        hasSeenEnd = false
        if let head { sequenceMin = head }
    }

    // MARK: What the remote has

    /// Makes the next listing of all logs show the whole of this log, if that is due.
    ///
    /// - Parameters:
    ///   - head: The number of the log's last commit; nil if it has none.
    ///   - covered: The last commit that a checkpoint covers.
    ///   - now: The time, in milliseconds.
    ///   - isThorough: Whether the round looks everywhere.
    mutating func beginListing(head: UInt64?, covered: UInt64, now: UInt64, isThorough: Bool) {
        listing = nil
        guard let head else { return }
        let isRecent = now >= comparedAt && now - comparedAt < Self.pause
        guard isThorough || !isRecent else { return }
        // Commits that may not have been put yet will be put anyway.
        listing = OwnLogListing(covered: covered, last: lastSent(head: head))
    }

    /// Commits that a listing lacks, or shows with another size than they were put with, in ascending order.
    ///
    /// Also finds out whether the end of the log is lost.
    mutating func missing(in listing: OwnLogListing, isExpected: (UInt64) -> Bool) -> [UInt64] {
        let missing = listing.missing(kept).filter(isExpected)
        isEndLost = missing.count { $0 > listing.end } > Self.endCountMax
        return missing
    }

    /// Returns the next batch of lost commits to deal with.
    ///
    /// - Parameter wanted: All lost commits, in ascending order.
    mutating func nextBatch(_ wanted: [UInt64]) -> [UInt64] {
        let start = wanted.firstIndex { $0 > turn } ?? 0
        let batch = Array((wanted[start...] + wanted[..<start]).prefix(Self.countMax))
        turn = batch.last ?? 0
        return batch
    }

    /// Records the end of a comparison.
    ///
    /// - Parameters:
    ///   - lost: Commits that are lost for good.
    ///   - time: The time, in milliseconds; nil if the next round has to continue.
    mutating func compared(lost: Set<UInt64>, at time: UInt64?) {
        self.lost = lost.sorted()
        comparedAt = time ?? 0
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
    mutating func add(_ sequence: UInt64, _ byteCount: Int) {
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
