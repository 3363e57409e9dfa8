internal import CofferFormat
internal import CofferRemote

/// What is known of the packs that contents refer to.
struct KnownPacks: Equatable, Sendable {
    /// The interval between looks at them, in milliseconds: 10 minutes.
    private static let shortestPause: UInt64 = 600_000
    /// The longest interval, in milliseconds, if the remote loses the contents again each time: a day.
    private static let longestPause: UInt64 = 86_400_000
    /// The most lost packs that are dealt with at a time.
    static let packCountMax = 64
    /// The approximate number of bytes that are sent again at a time.
    static let byteCountMax = 256 << 20

    /// The time of the last look, in milliseconds.
    private var comparedAt: UInt64 = 0
    /// How many looks in a row had to send something again.
    private var repairCount = 0
    /// The last pack that was asked for because the listing lacked it.
    private var turn: RemoteName?
    /// When this device last moved contents out of packs, in milliseconds.
    private var movedAt: UInt64 = 0
    /// The packs that contents were moved out of since the start, until nothing moves for a day.
    private var left: Set<PackID> = []
    /// When this device last asked who still needs packs, in milliseconds.
    private var askedAt: UInt64 = 0
    /// Packs that this device has deleted last.
    private var deletedPacks: Set<PackID> = []
    /// How many times in a row others needed all that this device asked about.
    private var vainCount = 0
    /// Whether packs may be deleted, as far as is known: the remote has not refused that since the start.
    private(set) var mayDelete = true
    /// Bytes that this device has written, and that are lost.
    private(set) var lostByteCount = 0

    /// Whether it is time to look.
    func isLookDue(at now: UInt64) -> Bool {
        let pause = min(Self.longestPause, Self.shortestPause << UInt64(min(repairCount, 16)))
        return now < comparedAt || now - comparedAt >= pause || lostByteCount > 0
    }

    /// Records that a look begins.
    mutating func beginLook(at now: UInt64) { comparedAt = now }

    /// Packs to ask for, so that each of many gets its turn.
    ///
    /// - Parameter missing: The names that a listing lacks, in order.
    func inTurn(_ missing: [RemoteName]) -> [RemoteName] {
        let start = turn.flatMap { turn in missing.firstIndex { $0 > turn } } ?? 0
        return Array(missing[start...] + missing[..<start])
    }

    /// Records that a pack was asked for.
    mutating func asked(_ name: RemoteName) { turn = name }

    /// Records the result of a look.
    ///
    /// - Parameters:
    ///   - lostCount: The number of packs that the remote has lost.
    ///   - byteCount: The bytes that are sent again.
    ///   - lostByteCount: The bytes that this device does not have either.
    ///   - isPart: Whether there is more to send again.
    mutating func looked(lostCount: Int, byteCount: Int, lostByteCount: Int, isPart: Bool) {
        self.lostByteCount = lostByteCount
        if lostCount == 0 { repairCount = 0 }
        guard byteCount > 0 else { return }
        repairCount += 1
        // The next round that looks everywhere deals with the rest.
        if isPart || lostCount == Self.packCountMax { lookSoon() }
    }

    /// Whether to ask again who still needs packs that are not in use here.
    ///
    /// Devices that send much for a long time need packs of which others know nothing yet.
    func mayAsk(at now: UInt64) -> Bool {
        let pause =
            vainCount == 0 ? 0 : min(Self.longestPause, Self.shortestPause << UInt64(min(vainCount, 16)))
        return mayDelete && (now < askedAt || now - askedAt >= pause)
    }

    /// Records that this device asks who still needs packs.
    mutating func asks(at now: UInt64) { askedAt = now }

    /// Whether to move contents out of packs: not often, as every device applies the moves.
    func mayMove(at now: UInt64) -> Bool {
        mayDelete && (now < movedAt || now - movedAt >= Self.shortestPause)
    }

    /// Packs that contents were moved out of lately: what is still in use of them cannot move.
    func left(at now: UInt64) -> Set<PackID> {
        now < movedAt || now - movedAt >= Self.longestPause ? [] : left
    }

    /// Records that this device moves contents out of packs.
    mutating func moves(from packs: Set<PackID>, at now: UInt64) {
        left = left(at: now)
        movedAt = now
        left.formUnion(packs)
    }

    /// Records how that has ended.
    mutating func asked(deletedCount: Int) { vainCount = deletedCount > 0 ? 0 : vainCount + 1 }

    /// Records that this device has deleted packs.
    mutating func deleted(_ packs: Set<PackID>) { deletedPacks = packs }

    /// Whether the remote lists packs that this device deleted long before.
    func areListedAgain(_ packs: Set<PackID>) -> Bool { !packs.isDisjoint(with: deletedPacks) }

    /// Records that the remote does not let this device delete packs.
    mutating func refusedDeletion() { mayDelete = false }

    /// Makes the next look due.
    mutating func lookSoon() { comparedAt = 0 }
}
