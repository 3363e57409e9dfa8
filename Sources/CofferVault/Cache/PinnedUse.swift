package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// The total of everything pinned in a vault.
package struct PinnedUse: Sendable, Equatable {
    /// The number of files and directories that were pinned.
    package var paths = 0
    /// The contents of the files that they are or contain.
    package var content = Cache.ContentUse()
}

/// The last result of an expensive count.
///
/// The count is repeated only if its value may have changed; if it is expensive, not before a multiple of the
/// time that it took has passed.
struct RememberedCount<Value: Sendable>: Sendable {
    private var value: Value?
    private var change: Int64 = -1
    /// The time until which the value is used, whatever has changed, by the monotonic clock in nanoseconds.
    private var until: Int64 = 0
    /// Incremented when the value is dropped, so that the result of a running count is discarded.
    private(set) var generation = 0

    /// A count that takes less time is repeated after every change, in nanoseconds.
    private static var cheapTime: Int64 { 1_000_000_000 }
    /// How many times as long as it took the result of a more expensive count is used.
    private static var restFactor: Int64 { 10 }

    init() {}

    /// The value, if it is as of this change, or if counting took so long that the value is used until after
    /// `now`.
    func value(asOf change: Int64, at now: Int64) -> Value? {
        change == self.change || now < until ? value : nil
    }

    /// Stores a value that was counted between two times.
    mutating func note(
        _ value: Value, asOf change: Int64, from start: Int64, to end: Int64, generation: Int
    ) {
        guard generation == self.generation else { return }
        let time = end - start
        (self.value, self.change) = (value, change)
        until = time > Self.cheapTime ? end + Self.restFactor * time : 0
    }

    /// Drops the value, because something else must be counted now.
    mutating func forget() {
        self = RememberedCount(generation: generation + 1)
    }

    private init(generation: Int) {
        self.generation = generation
    }
}

extension Cache {
    /// The total of everything pinned, as of the last commit; nil if nothing is pinned.
    ///
    /// If walking the pinned directories takes seconds, the total may be some commits old.
    package func pinnedUse() throws(FileSystemError) -> PinnedUse? {
        guard mayHavePins else { return nil }
        let (change, start) = (vault.state.withLock { $0.index.base.commits }, Clock.monotonic)
        let (known, generation) = vault.cacheLimit.withLock {
            ($0.pinnedUse.value(asOf: change, at: start), $0.pinnedUse.generation)
        }
        if let known { return known.paths == 0 ? nil : known }
        let items = try pinnedItems()
        let use = PinnedUse(
            paths: items.count,
            content: items.isEmpty ? ContentUse() : try contentUse(of: try vault.files(below: items)))
        let end = Clock.monotonic
        vault.cacheLimit.withLock {
            $0.pinnedUse.note(use, asOf: change, from: start, to: end, generation: generation)
        }
        return items.isEmpty ? nil : use
    }
}
