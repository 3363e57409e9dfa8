package import CofferFormat

/// Puts commits that arrive in any order into one in which each comes after all that its author had applied.
///
/// Holds no more bytes than it is given: a commit that does not fit is to be fetched again, once what it waits
/// for is applied. The commit that nothing is missing for is never held, so there is always a way on.
package struct CausalQueue<Commit> {
    /// What becomes of a commit that is offered.
    package enum Answer: Equatable {
        /// Nothing is missing: apply it, and call `applied`.
        case ready
        /// It waits here.
        case held
        /// It waits for a commit, and there is no room: offer it again when that is applied.
        case full(missing: Dot)
        /// It was applied, or waits here, already.
        case known
    }

    private struct Held {
        let commit: Commit
        let needs: VersionVector
        let byteCount: Int
    }

    /// Which commits were applied.
    package private(set) var versions: VersionVector
    /// The last commit of logs that end there: nobody waits for later ones.
    package private(set) var ends: [LogID: UInt64] = [:]
    /// Bytes of all that wait.
    package private(set) var byteCount = 0
    private let byteCountMax: Int
    private var held: [Dot: Held] = [:]
    private var waiting: [Dot: [Dot]] = [:]
    /// Of these, the ones that do not wait here themselves.
    private var roots: Set<Dot> = []

    /// - Parameters:
    ///   - versions: Which commits were applied.
    ///   - byteCountMax: The most bytes to hold.
    package init(applied versions: VersionVector, byteCountMax: Int) {
        self.versions = versions
        self.byteCountMax = byteCountMax
    }

    /// Takes a commit.
    ///
    /// - Parameter needs: What its author had applied, but for the commit's own log.
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

    /// Notes that a commit was applied.
    ///
    /// - Returns: Those that nothing is missing for any more; they are held no longer.
    package mutating func applied(_ dot: Dot) -> [Commit] {
        versions[dot.log] = max(versions[dot.log], dot.sequence)
        return wake(dot)
    }

    /// Notes that a log ends: whoever had applied more of it, need not be waited for.
    package mutating func end(_ log: LogID, at sequence: UInt64) -> [Commit] {
        guard ends[log] != sequence else { return [] }
        ends[log] = sequence
        let dots = waiting.keys.filter { $0.log == log && $0.sequence > sequence }
        return dots.sorted().flatMap { wake($0) }
    }

    /// What is waited for and does not wait here itself, with one of those that wait for it.
    package var gaps: [Dot: Dot] {
        var gaps: [Dot: Dot] = [:]
        for root in roots { gaps[root] = waiting[root]?.min() }
        return gaps
    }

    /// What is waited for and does not wait here itself.
    package var missing: Set<Dot> { roots }

    /// Whether a log is waited for, and a commit that waits here names it.
    ///
    /// - Parameter isOf: Says of the log of such a commit whether it is meant.
    package func isNamed(_ log: LogID, where isOf: (LogID) -> Bool) -> Bool {
        isMissing(log) && held.contains { $0.value.needs[log] > 0 && isOf($0.key.log) }
    }

    /// Whether a log is waited for.
    package func isMissing(_ log: LogID) -> Bool { roots.contains { $0.log == log } }

    /// Needs as they count: no more of a log than there is.
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
                // Who waits for it waits on, until it is applied.
                if waiting[dot] != nil { roots.insert(dot) }
                byteCount -= waiter.byteCount
                ready.append(waiter.commit)
            }
        }
        return ready
    }

    /// The first commit that must come before; the next one of its log, so that it is waited for one at a time.
    private func missing(_ dot: Dot, _ needs: VersionVector) -> Dot? {
        if dot.sequence > versions[dot.log] + 1 { return Dot(log: dot.log, sequence: dot.sequence - 1) }
        let needs = counting(needs)
        guard let log = versions.firstMissing(of: needs) else { return nil }
        return Dot(log: log, sequence: needs[log])
    }
}
