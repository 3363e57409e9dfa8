internal import CofferFormat
internal import CofferSystem

/// Contents that cannot be read for now: their packs have not arrived at the remote, or are damaged there, or
/// the remote does not answer.
///
/// In a replicated folder, a commit may arrive before the packs that it needs. A read of such a content waits
/// for a while. Coffer looks for unreadable contents again until they are there, whether or not a program
/// requests them. Then their lines leave the problem log. The size of a pack shows whether it has arrived, so
/// looking is cheap.
final class Arrivals: Sendable {
    /// How long reads wait for a missing pack, counted from the first read that missed it.
    private static let patience: Int64 = 10_000_000_000
    /// The time without a failed read after which reads wait again for a pack; and the time without a failed
    /// wait after which they wait the full time for all packs.
    private static let renewal: Int64 = 60_000_000_000
    /// The number of failed waits after which reads wait only a tenth of the time.
    ///
    /// A program that reads many files must not wait for each of them.
    private static let vainMax = 3
    /// The time until a waiting read is tried again.
    static let pause: Int64 = 500_000_000
    /// The time until the next look at contents that no read waits for; doubled each time, up to the second
    /// value.
    private static let firstRetry: Int64 = 5_000_000_000, lastRetry: Int64 = 20_000_000_000
    /// The numbers of files, of ranges in a file, and of packs that are remembered.
    private static let itemsMax = 100, rangesMax = 8, packsMax = 1024
    /// The maximum number of bytes of a file that are read to find out whether damage is gone.
    private static let rereadByteCountMax: Int64 = 64 << 20

    /// A missed pack; or, if the pack is not known, the content of a file.
    private struct Missed: Hashable {
        let pack: PackID
        let item: Int64
    }

    /// The times at which it was first and last missed.
    private struct Times {
        var first: Int64
        var last: Int64
        /// Whether a wait for it failed.
        var isVain = false
    }

    private struct Unread {
        var ranges: [Range<Int64>] = []
        /// For a damaged content, the sizes of its packs when the damage was found.
        ///
        /// As long as they stay the same, another try would not help.
        var sizes: [PackID: Int]?
    }

    private struct State {
        var missed: [Missed: Times] = [:]
        /// The number of failed waits for packs since one arrived, and the time of the last one.
        var vain = 0, lastVain: Int64 = 0
        /// The files with ranges that could not be read.
        var unread: [Int64: Unread] = [:]
        /// These files, the one that failed first at the beginning.
        var items: [Int64] = []
        /// Files whose content description is known to be damaged.
        var damagedPages: Set<Int64> = []
        /// Incremented when damaged contents must be looked at again.
        var looks: UInt64 = 0
        var patience = Arrivals.patience
        var isRetrying = false
        var isStopped = false
    }

    private let state = Condition(State(), rank: .leaf)
    private let retriers = Workers("coffer-again", max: 1)

    /// Sets how long reads wait for a pack, in nanoseconds.
    func wait(nanoseconds: Int64) { state.withLock { $0.patience = nanoseconds } }

    /// Makes all reads stop waiting.
    func stop() {
        state.update { $0.isStopped = true }
        retriers.stop()
    }

    // MARK: Waiting

    /// Whether to try a failed read again soon, because the data that it needs may arrive.
    ///
    /// - Parameter begin: The time of the first try.
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

    /// Waits until a failed read is to be tried again.
    func awaitNextTry() { _ = state.wait(nanoseconds: Self.pause) { $0.isStopped ? true : nil } }

    /// Records that a read that had waited was answered.
    func noteArrival() { state.withLock { $0.vain = 0 } }

    /// The files with ranges that could not be read, the one that failed first at the beginning.
    var items: [Int64] { state.withLock { $0.items } }

    // MARK: Descriptions of contents

    /// Records whether the pages of a file's content were found damaged on the remote.
    func notePages(of item: Int64, areDamaged: Bool) {
        state.withLock { state in
            if areDamaged { state.damagedPages.insert(item) } else { state.damagedPages.remove(item) }
        }
    }

    /// Whether the pages of a file's content were found damaged on the remote.
    func arePagesDamaged(of item: Int64) -> Bool { state.withLock { $0.damagedPages.contains(item) } }

    /// Changes when damaged contents must be looked at again.
    var looks: UInt64 { state.withLock { $0.looks } }

    // MARK: Trying again

    /// Remembers a range that could not be read; if there are too many files, drops the oldest.
    ///
    /// - Parameter sizes: For a damaged content, the sizes of its packs; nil for a content that may arrive.
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
        // The next call of `note` tries again to start the thread.
        if !isHeard { state.withLock { $0.isRetrying = false } }
    }

    /// Removes a range from other ranges.
    private static func without(_ range: Range<Int64>, _ ranges: [Range<Int64>]) -> [Range<Int64>] {
        ranges.flatMap { known -> [Range<Int64>] in
            guard known.overlaps(range) else { return [known] }
            var rest: [Range<Int64>] = []
            if known.lowerBound < range.lowerBound { rest.append(known.lowerBound..<range.lowerBound) }
            if range.upperBound < known.upperBound { rest.append(range.upperBound..<known.upperBound) }
            return rest
        }
    }

    /// The same ranges, or one range around them if there are too many.
    private static func bounded(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        guard ranges.count > rangesMax, let start = ranges.map(\.lowerBound).min(),
            let end = ranges.map(\.upperBound).max()
        else { return ranges }
        return [start..<end]
    }

    /// Looks again until everything can be read; then there is nothing more to do.
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

    /// Looks once whether contents that could not be read are there by now.
    ///
    /// Fetches only damaged contents, and those only if the size of a pack has changed.
    ///
    /// - Parameter evenDamaged: Whether to fetch damaged contents in any case.
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

    /// Reads damaged contents; the read records those that are still damaged.
    private func reread(_ item: Int64, _ ranges: [Range<Int64>], in vault: Vault) {
        let buffer = AlignedBuffer(count: ExtentLayout.byteCountMax)
        var left = Self.rereadByteCountMax
        for range in ranges {
            var offset = range.lowerBound
            while offset < range.upperBound, left > 0 {
                var end = min(offset + Int64(ExtentLayout.byteCountMax), range.upperBound)
                do throws(FileSystemError) {
                    _ = try vault.contents.read(item, at: offset, count: Int(end - offset), into: buffer)
                } catch {
                    // Damage on this device is another problem, with a line of its own.
                    let missing = (try? vault.contents.missingExtents(of: item, range)) ?? []
                    if !missing.isEmpty { return }
                    end = range.upperBound
                }
                forget(item, offset..<end, in: vault)
                left -= end - offset
                offset = end
            }
        }
    }

    /// Forgets a range that can be read by now.
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
