package import CofferFormat

/// Orders commits that arrive in any order, so that each comes after all that its author had applied.
///
/// Holds at most `byteCountMax` bytes: a commit that does not fit must be fetched again once the commit that
/// it waits for is applied. A commit that lacks nothing is never held, so there is always progress.
package struct CausalQueue<Commit: Sendable>: Sendable {
    /// What happens to a commit that is offered.
    package enum Answer: Equatable {
        /// It lacks nothing: apply it, and call `applied`.
        case ready
        /// The queue holds it.
        case held
        /// It waits for a commit, and there is no room: offer it again once that one is applied.
        case full(missing: Dot)
        /// It was applied before, or the queue holds it already.
        case known
    }

    private struct Held: Sendable {
        let commit: Commit
        let needs: VersionVector
        let byteCount: Int
    }

    /// The commits that were applied.
    package private(set) var versions: VersionVector
    /// The last commit of each log that has ended; commits do not wait for later ones.
    package private(set) var ends: [LogID: UInt64] = [:]
    /// Bytes of all commits held.
    package private(set) var byteCount = 0
    private let byteCountMax: Int
    private var held: [Dot: Held] = [:]
    private var waiting: [Dot: [Dot]] = [:]
    /// The keys of `waiting` that are not held themselves.
    private var roots: Set<Dot> = []

    /// - Parameters:
    ///   - versions: The commits that were applied.
    ///   - byteCountMax: The most bytes to hold.
    package init(applied versions: VersionVector, byteCountMax: Int) {
        self.versions = versions
        self.byteCountMax = byteCountMax
    }

    /// Offers a commit.
    ///
    /// - Parameter needs: The commits that its author had applied, without those of its own log.
    package mutating func offer(
        _ commit: Commit, _ dot: Dot, needs: VersionVector, byteCount: Int
    ) -> Answer {
        guard !versions.contains(dot), held[dot] == nil else { return .known }
        guard let missing = missing(dot, needs) else { return .ready }
        guard self.byteCount + byteCount <= byteCountMax else { return .full(missing: missing) }
        held[dot] = Held(commit: commit, needs: needs, byteCount: byteCount)
        roots.remove(dot)
        wait(dot, for: missing)
        self.byteCount += byteCount
        return .held
    }

    /// Records that a commit was applied.
    ///
    /// - Returns: Commits that now lack nothing; the queue no longer holds them.
    package mutating func applied(_ dot: Dot) -> [Commit] {
        versions[dot.log] = max(versions[dot.log], dot.sequence)
        return wake(dot)
    }

    /// Records that a log has ended: commits that need more of it no longer wait for that.
    ///
    /// - Returns: Commits that now lack nothing; the queue no longer holds them.
    package mutating func end(_ log: LogID, at sequence: UInt64) -> [Commit] {
        guard ends[log] != sequence else { return [] }
        ends[log] = sequence
        let dots = waiting.keys.filter { $0.log == log && $0.sequence > sequence }
        return dots.sorted().flatMap { wake($0) }
    }

    /// Commits that are waited for and not held, each with one that waits for it.
    package var gaps: [Dot: Dot] {
        var gaps: [Dot: Dot] = [:]
        for root in roots { gaps[root] = waiting[root]?.min() }
        return gaps
    }

    /// Commits that are waited for and not held.
    package var missing: Set<Dot> { roots }

    /// Whether a log is waited for, and a held commit names it.
    ///
    /// - Parameter isOf: Whether to consider commits of a log.
    package func isNamed(_ log: LogID, where isOf: (LogID) -> Bool) -> Bool {
        isMissing(log) && held.contains { $0.value.needs[log] > 0 && isOf($0.key.log) }
    }

    /// Whether a log is waited for.
    package func isMissing(_ log: LogID) -> Bool { roots.contains { $0.log == log } }

    /// The needs that count: nothing after the end of a log.
    package func counting(_ needs: VersionVector) -> VersionVector {
        var counting = needs
        for (log, end) in ends where needs[log] > end { counting[log] = end }
        return counting
    }

    private mutating func wait(_ dot: Dot, for missing: Dot) {
        waiting[missing, default: []].append(dot)
        if held[missing] == nil { roots.insert(missing) }
    }

    private mutating func wake(_ missing: Dot) -> [Commit] {
        var ready: [Commit] = []
        roots.remove(missing)
        for dot in waiting.removeValue(forKey: missing) ?? [] {
            guard let waiter = held[dot] else { continue }
            if let next = self.missing(dot, waiter.needs) {
                wait(dot, for: next)
            } else {
                held[dot] = nil
                // Commits that wait for this one continue to wait until it is applied.
                if waiting[dot] != nil { roots.insert(dot) }
                byteCount -= waiter.byteCount
                ready.append(waiter.commit)
            }
        }
        return ready
    }

    /// The commit to wait for first: the one before it in its log, so that a log's commits wait one by one.
    private func missing(_ dot: Dot, _ needs: VersionVector) -> Dot? {
        if dot.sequence > versions[dot.log] + 1 { return Dot(log: dot.log, sequence: dot.sequence - 1) }
        let needs = counting(needs)
        guard let log = versions.firstMissing(of: needs) else { return nil }
        return Dot(log: log, sequence: needs[log])
    }
}
