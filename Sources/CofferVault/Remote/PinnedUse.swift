internal import CofferStore
internal import CofferSystem

/// How much is pinned in a vault, together.
package struct PinnedUse: Sendable, Equatable {
    /// How many files and directories were pinned.
    package var paths = 0
    /// The files that they are or contain.
    package var content = Vault.ContentUse()
}

/// What was counted last of something that takes long to count: it is counted again only if it may have changed, and not
/// much more often than it can be counted.
struct RememberedCount<Value: Sendable>: Sendable {
    private var value: Value?
    private var change: Int64 = -1
    /// Until when the value is good enough, whatever has changed, by the monotonic clock in nanoseconds.
    private var until: Int64 = 0
    /// Goes up whenever the value is forgotten: what is being counted then does not count.
    private(set) var generation = 0

    /// A count that takes less, in nanoseconds, is made for every change.
    private static var cheapTime: Int64 { 1_000_000_000 }
    /// For how many times as long as it took a count that takes more is good enough.
    private static var restFactor: Int64 { 10 }

    init() {}

    /// The value, if it is of this change, or if counting took so long that it was to rest until later than `now`.
    func value(asOf change: Int64, at now: Int64) -> Value? {
        change == self.change || now < until ? value : nil
    }

    /// Remembers a value that was counted between two times.
    mutating func note(
        _ value: Value, asOf change: Int64, from start: Int64, to end: Int64, generation: Int
    ) {
        guard generation == self.generation else { return }
        let time = end - start
        (self.value, self.change) = (value, change)
        until = time > Self.cheapTime ? end + Self.restFactor * time : 0
    }

    /// Has it counted again, as it is something else that is counted.
    mutating func forget() {
        self = RememberedCount(generation: generation + 1)
    }

    private init(generation: Int) {
        self.generation = generation
    }
}

extension Vault {
    /// How much is pinned, as of the last commit; nil for nothing.
    ///
    /// Where it takes seconds to go through the pinned directories, it may be as of some commits ago.
    package func pinnedUse() throws(FileSystemError) -> PinnedUse? {
        guard mayHavePins else { return nil }
        let (change, start) = (state.withLock { $0.index.base.commits }, Clock.monotonic)
        let (known, generation) = cache.withLock {
            ($0.pinnedUse.value(asOf: change, at: start), $0.pinnedUse.generation)
        }
        if let known { return known.paths == 0 ? nil : known }
        let items = try pinnedItems()
        let use = PinnedUse(
            paths: items.count,
            content: items.isEmpty ? ContentUse() : try contentUse(of: try files(below: items)))
        let end = Clock.monotonic
        cache.withLock {
            $0.pinnedUse.note(use, asOf: change, from: start, to: end, generation: generation)
        }
        return items.isEmpty ? nil : use
    }
}
