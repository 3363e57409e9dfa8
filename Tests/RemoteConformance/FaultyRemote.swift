package import CofferRemote
internal import CofferTestSupport
internal import Synchronization

/// The frequency of each fault: in one of so many calls, or never if it is 0.
package struct RemoteFaults: Sendable {
    /// A call fails, and had no effect.
    package var failsBefore = 0
    /// A call fails, and had its effect.
    package var failsAfter = 0
    /// A change is made twice: a request that was repeated on its way.
    ///
    /// The first answer is lost.
    package var repeats = 0
    /// A listing repeats an older answer to the same request.
    package var staleListings = 0
    /// An entry is missing from a page of a listing.
    package var lostEntries = 0
    /// A read repeats an older answer to the same request, even if the object did not exist then.
    package var staleReads = 0
    /// The maximum number of calls for which an object of another client stays invisible; it varies, so later objects
    /// may appear before earlier ones.
    package var delayMax = 0
    /// One of so many objects of other clients is visible truncated for some calls before it is visible whole.
    package var halfArrived = 0
    /// The maximum number of times that a call yields to other tasks.
    package var yieldsMax = 0

    /// No faults.
    package init() {}

    /// Some faults of each kind.
    package static var all: RemoteFaults {
        var faults = RemoteFaults()
        (faults.failsBefore, faults.failsAfter, faults.repeats) = (8, 8, 8)
        (faults.staleListings, faults.lostEntries, faults.staleReads) = (5, 20, 6)
        (faults.delayMax, faults.halfArrived, faults.yieldsMax) = (12, 6, 4)
        return faults
    }
}

/// One client's view of a remote that fails, repeats, forgets and delays, reproducibly for a seed and calls.
///
/// It never invents bytes: it returns present or past objects, or prefixes of them. A client sees its own objects
/// at once, unless stale reads are on. Without faults, it is as good as its base.
package final class FaultyRemote: RemoteBackend {
    private struct View {
        var random: SplitMix64
        var faults: RemoteFaults
        /// The number of calls so far.
        var now = 0
        /// When each object of another client becomes visible.
        var arrivals: [RemoteName: Arrival] = [:]
        var listings: [String: RemotePage] = [:]
        var reads: [String: RemoteContent?] = [:]
    }

    private struct Arrival {
        /// The call from which on it is visible, truncated.
        var begins: Int
        /// The call from which on it is visible whole.
        var ends: Int
    }

    /// The outcome of one call.
    private struct Fate {
        var failsBefore = false, failsAfter = false, repeats = false
        var isStale = false
        var yields = 0
    }

    /// Answers that are kept for repetition.
    private static let keptCountMax = 2000

    private let base: any RemoteBackend
    private let view: Mutex<View>

    package init(_ base: any RemoteBackend, _ faults: RemoteFaults, seed: UInt64) {
        self.base = base
        view = Mutex(View(random: SplitMix64(seed: seed), faults: faults))
    }

    /// Changes its faults from now on.
    ///
    /// Without faults, everything is visible.
    package func become(_ faults: RemoteFaults) {
        view.withLock { view in
            view.faults = faults
            view.arrivals = view.arrivals.mapValues { _ in Arrival(begins: 0, ends: 0) }
        }
    }

    package var limits: RemoteLimits { base.limits }

    package func describe() -> String { "faulty \(base.describe())" }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        let key = "\(name) \(range)"
        let (fate, old) = begin { ($0.reads[key], $0.faults.staleReads) }
        await yield(fate)
        if fate.failsBefore { throw .unreachable("by the seed, before") }
        if fate.isStale, let old {
            guard let content = old else { throw .absent }
            return content
        }
        var content: RemoteContent?
        do throws(RemoteError) {
            content = try await base.get(name, range)
        } catch {
            guard error == .absent else { throw error }
        }
        let found = content
        let seen = view.withLock { view in
            let seen = Self.seen(found, name, range, &view)
            if view.reads.count >= Self.keptCountMax { view.reads = [:] }
            view.reads[key] = .some(seen)
            return seen
        }
        if fate.failsAfter { throw .unreachable("by the seed, after") }
        guard let seen else { throw .absent }
        return seen
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        let (fate, _) = begin { _ in (nil as Int?, 0) }
        await yield(fate)
        if fate.failsBefore { throw .unreachable("by the seed, before") }
        try await base.put(name, bytes, ifAbsent: ifAbsent)
        view.withLock { $0.arrivals[name] = Arrival(begins: 0, ends: 0) }
        if fate.repeats { try await base.put(name, bytes, ifAbsent: ifAbsent) }
        if fate.failsAfter { throw .unreachable("by the seed, after") }
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        let (fate, _) = begin { _ in (nil as Int?, 0) }
        await yield(fate)
        if fate.failsBefore { throw .unreachable("by the seed, before") }
        try await base.delete(name)
        if fate.repeats { try await base.delete(name) }
        if fate.failsAfter { throw .unreachable("by the seed, after") }
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        let key = "\(prefix) \(after?.text ?? "")"
        let (fate, old) = begin { ($0.listings[key], $0.faults.staleListings) }
        await yield(fate)
        if fate.failsBefore { throw .unreachable("by the seed, before") }
        if fate.isStale, let old { return old }
        let page = try await base.list(prefix, after: after)
        let seen = view.withLock { view in
            let seen = Self.seen(page, &view)
            if view.listings.count >= Self.keptCountMax { view.listings = [:] }
            view.listings[key] = seen
            return seen
        }
        if fate.failsAfter { throw .unreachable("by the seed, after") }
        return seen
    }

    // MARK: Visibility

    /// Draws the outcome of a call; `old` gives a kept answer, and how often it is repeated.
    private func begin<Old: Sendable>(_ old: (View) -> (Old?, Int)) -> (Fate, Old?) {
        view.withLock { view in
            view.now += 1
            let (kept, staleness) = old(view)
            var fate = Fate()
            fate.failsBefore = Self.happens(view.faults.failsBefore, &view)
            fate.failsAfter = Self.happens(view.faults.failsAfter, &view)
            fate.repeats = Self.happens(view.faults.repeats, &view)
            fate.isStale = Self.happens(staleness, &view)
            fate.yields = view.random.below(view.faults.yieldsMax + 1)
            return (fate, kept)
        }
    }

    private func yield(_ fate: Fate) async {
        for _ in 0..<fate.yields { await Task.yield() }
    }

    private static func happens(_ oneIn: Int, _ view: inout View) -> Bool {
        oneIn > 0 && view.random.oneIn(oneIn)
    }

    private static func arrival(_ name: RemoteName, _ view: inout View) -> Arrival {
        if let arrival = view.arrivals[name] { return arrival }
        var arrival = Arrival(begins: 0, ends: 0)
        if view.faults.delayMax > 0 {
            arrival.begins = view.now + view.random.below(view.faults.delayMax + 1)
            arrival.ends = arrival.begins
        }
        if happens(view.faults.halfArrived, &view) {
            arrival.begins = max(arrival.begins, view.now)
            arrival.ends = arrival.begins + 1 + view.random.below(max(view.faults.delayMax, 4))
        }
        view.arrivals[name] = arrival
        return arrival
    }

    private static func seen(
        _ content: RemoteContent?, _ name: RemoteName, _ range: Range<Int>, _ view: inout View
    ) -> RemoteContent? {
        guard let content else { return nil }
        let arrival = arrival(name, &view)
        if view.now < arrival.begins { return nil }
        if view.now >= arrival.ends { return content }
        let byteCount = content.objectByteCount / 2
        let kept = max(0, min(content.bytes.count, byteCount - range.lowerBound))
        return RemoteContent(bytes: Array(content.bytes.prefix(kept)), objectByteCount: byteCount)
    }

    private static func seen(_ page: RemotePage, _ view: inout View) -> RemotePage {
        var entries: [RemotePage.Entry] = []
        for entry in page.entries {
            let arrival = arrival(entry.name, &view)
            if view.now < arrival.begins || happens(view.faults.lostEntries, &view) { continue }
            let isWhole = view.now >= arrival.ends
            entries.append(
                RemotePage.Entry(
                    name: entry.name, byteCount: isWhole ? entry.byteCount : entry.byteCount / 2))
        }
        return RemotePage(entries: entries, next: page.next)
    }
}
