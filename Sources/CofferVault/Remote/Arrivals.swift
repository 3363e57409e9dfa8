internal import CofferFormat
internal import CofferSystem

/// Contents that cannot be read for now: their packs have not arrived at the remote, or are damaged there, or the remote
/// does not answer.
///
/// In a folder that is replicated, a commit may come before the packs that it needs. A read of such a content waits for a
/// while. What could not be read is looked for again until it is there, whether or not a program asks for it, and then
/// the line about it leaves the problem log. The size of a pack tells whether it has arrived, so looking is cheap.
final class Arrivals: Sendable {
    /// How long reads wait for a pack that is not there, counted from the first read that missed it.
    private static let patience: Int64 = 10_000_000_000
    /// Reads wait anew for a pack that nobody missed for so long, and for all if nobody waited in vain for so long.
    private static let renewal: Int64 = 60_000_000_000
    /// After so many packs that were waited for in vain, reads wait for a tenth of the time: whoever reads many files must
    /// not wait for each of them.
    private static let vainMax = 3
    /// How long until a read that waits is tried again.
    static let pause: Int64 = 500_000_000
    /// How long until what nobody waits for is looked for; twice as long each time, up to the second one.
    private static let firstRetry: Int64 = 5_000_000_000, lastRetry: Int64 = 20_000_000_000
    /// Files, ranges of a file, and packs, that are remembered.
    private static let itemsMax = 100, rangesMax = 8, packsMax = 1024
    /// Bytes of a file that are read at most to find out whether damage is gone.
    private static let rereadByteCountMax: Int64 = 64 << 20

    /// What is missed: a pack, or, where it is not known which, the content of a file.
    private struct Missed: Hashable {
        let pack: PackID
        let item: Int64
    }

    /// When something was missed first, and last.
    private struct Times {
        var first: Int64
        var last: Int64
        /// Whether it was waited for in vain.
        var isVain = false
    }

    private struct Unread {
        var ranges: [Range<Int64>] = []
        /// Of a damaged content: the sizes of its packs when the damage was found.
        ///
        /// Nothing new is to be expected as long as they stay the same.
        var sizes: [PackID: Int]?
    }

    private struct State {
        var missed: [Missed: Times] = [:]
        /// Packs that were waited for in vain since one arrived, and when the last of them was given up.
        var vain = 0, lastVain: Int64 = 0
        /// Files with what could not be read of them.
        var unread: [Int64: Unread] = [:]
        /// These files, the one that failed first in front.
        var items: [Int64] = []
        /// Files of which it is known that what says where their content is, is damaged.
        var damagedPages: Set<Int64> = []
        /// Rises when what was found damaged is to be looked at again.
        var looks: UInt64 = 0
        var patience = Arrivals.patience
        var isRetrying = false
        var isStopped = false
    }

    private let state = Condition(State())
    private let retriers = Workers("coffer-again", max: 1)

    /// Makes reads wait for a pack for a different time, in nanoseconds.
    func wait(nanoseconds: Int64) { state.withLock { $0.patience = nanoseconds } }

    /// Makes all reads stop waiting.
    func stop() {
        state.update { $0.isStopped = true }
        retriers.stop()
    }

    // MARK: Waiting

    /// Whether a read that failed is to be tried again soon, as what it needs may arrive.
    ///
    /// - Parameter begin: When it was tried first.
    func isWaiting(_ item: Int64, since begin: Int64, after error: FileSystemError) -> Bool {
        guard case .notArrived(let pack) = error else { return false }
        let missed = Missed(pack: pack, item: pack == .nowhere ? item : 0)
        let now = Clock.monotonic
        return state.withLock { state in
            if state.missed.count >= Self.packsMax { state.missed = [:] }
            var times = state.missed[missed] ?? Times(first: now, last: now)
            if now - times.last > Self.renewal { times = Times(first: now, last: now) }
            times.last = now
            if now - state.lastVain > Self.renewal { state.vain = 0 }
            let patience = state.vain < Self.vainMax ? state.patience : state.patience / 10
            let waits = now - min(times.first, begin) < patience
            if !waits, !times.isVain {
                times.isVain = true
                state.vain += 1
                state.lastVain = now
            }
            state.missed[missed] = times
            return waits && !state.isStopped
        }
    }

    /// Notes that a read was answered that had waited.
    func noteArrival() { state.withLock { $0.vain = 0 } }

    /// Files of which something could not be read, the one that failed first in front.
    var items: [Int64] { state.withLock { $0.items } }

    // MARK: What says where a content is

    /// Notes whether the pages of a file's content were found to be damaged at the remote.
    func notePages(of item: Int64, areDamaged: Bool) {
        state.withLock { state in
            if areDamaged { state.damagedPages.insert(item) } else { state.damagedPages.remove(item) }
        }
    }

    /// Whether the pages of a file's content were found to be damaged at the remote.
    func arePagesDamaged(of item: Int64) -> Bool { state.withLock { $0.damagedPages.contains(item) } }

    /// Changes when what was found damaged is to be looked at again.
    var looks: UInt64 { state.withLock { $0.looks } }

    // MARK: Trying again

    /// Remembers what could not be read; of too many files, those that failed last.
    ///
    /// - Parameter sizes: Of a damaged content, the sizes of the packs that it is in; nil for one that may arrive.
    func note(_ item: Int64, _ range: Range<Int64>, damagedAt sizes: [PackID: Int]? = nil, in vault: Vault) {
        var dropped: Int64?
        let begins = state.withLock { state in
            if state.isStopped { return false }
            if state.unread[item] == nil {
                if state.items.count == Self.itemsMax {
                    let first = state.items.removeFirst()
                    state.unread[first] = nil
                    dropped = first
                }
                state.items.append(item)
            }
            var unread = state.unread[item] ?? Unread()
            unread.sizes = sizes
            unread.ranges = Self.bounded(Self.without(range, unread.ranges) + [range])
            state.unread[item] = unread
            defer { state.isRetrying = true }
            return !state.isRetrying
        }
        if let dropped { vault.problems.remove(about: .content(vault.id, dropped)) }
        guard begins else { return }
        let isHeard = retriers.call({ [self, weak vault] in retry { vault } }, leaving: {})
        // The next one that is noted tries once more to start the thread.
        if !isHeard { state.withLock { $0.isRetrying = false } }
    }

    /// Ranges without the parts that lie in another one.
    private static func without(_ range: Range<Int64>, _ ranges: [Range<Int64>]) -> [Range<Int64>] {
        ranges.flatMap { known -> [Range<Int64>] in
            guard known.overlaps(range) else { return [known] }
            var rest: [Range<Int64>] = []
            if known.lowerBound < range.lowerBound { rest.append(known.lowerBound..<range.lowerBound) }
            if range.upperBound < known.upperBound { rest.append(range.upperBound..<known.upperBound) }
            return rest
        }
    }

    /// The same ranges, or one around them if there are too many.
    private static func bounded(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        guard ranges.count > rangesMax, let start = ranges.map(\.lowerBound).min(),
            let end = ranges.map(\.upperBound).max()
        else { return ranges }
        return [start..<end]
    }

    /// Looks again until all can be read; there is nothing more to do then.
    private func retry(_ vault: () -> Vault?) -> Bool {
        var pause = Self.firstRetry
        while true {
            if state.wait(nanoseconds: pause, for: { $0.isStopped ? true : nil }) != nil { return false }
            guard let vault = vault() else { return false }
            tryAgain(in: vault)
            let isDone = state.withLock { state in
                if state.unread.isEmpty { state.isRetrying = false }
                return state.unread.isEmpty
            }
            if isDone { return false }
            pause = min(pause * 2, Self.lastRetry)
        }
    }

    /// Looks once whether all is there by now that could not be read.
    ///
    /// Fetches nothing but what was damaged, and that only where a pack has another size.
    ///
    /// - Parameter evenDamaged: Whether to fetch what was damaged in any case.
    func tryAgain(in vault: Vault, evenDamaged: Bool = false) {
        if evenDamaged { state.withLock { $0.looks += 1 } }
        var packs = SeenPacks(vault: vault)
        for (item, unread) in state.withLock({ $0.unread }).sorted(by: { $0.key < $1.key }) {
            if let sizes = unread.sizes {
                guard let now = packs.sizes(of: item, unread.ranges) else { return }
                if evenDamaged || now != sizes { reread(item, unread.ranges, in: vault) }
                continue
            }
            for range in unread.ranges {
                switch packs.readability(of: item, range) {
                case .yes:
                    noteArrival()
                    forget(item, range, in: vault)
                case .no: continue
                case .unknown: return
                }
            }
        }
    }

    /// Reads what was damaged; what still is, is noted anew by that.
    private func reread(_ item: Int64, _ ranges: [Range<Int64>], in vault: Vault) {
        let buffer = AlignedBuffer(count: ExtentLayout.byteCountMax)
        var left = Self.rereadByteCountMax
        for range in ranges {
            var offset = range.lowerBound
            while offset < range.upperBound, left > 0 {
                var end = min(offset + Int64(ExtentLayout.byteCountMax), range.upperBound)
                do throws(FileSystemError) {
                    _ = try vault.read(item, at: offset, count: Int(end - offset), into: buffer)
                } catch {
                    // What is on this device and damaged is another problem, with a line of its own.
                    let missing = (try? vault.missingExtents(of: item, range)) ?? []
                    if !missing.isEmpty { return }
                    end = range.upperBound
                }
                forget(item, offset..<end, in: vault)
                left -= end - offset
                offset = end
            }
        }
    }

    /// Lets go of what can be read by now.
    func forget(_ item: Int64, _ range: Range<Int64>, in vault: Vault) {
        let isLast = state.withLock { state in
            guard let unread = state.unread[item] else { return false }
            let rest = Self.without(range, unread.ranges)
            state.unread[item]?.ranges = rest
            guard rest.isEmpty else { return false }
            state.unread[item] = nil
            state.items.removeAll { $0 == item }
            return true
        }
        if isLast { vault.problems.remove(about: .content(vault.id, item)) }
    }
}
