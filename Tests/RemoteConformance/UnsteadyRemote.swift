package import CofferRemote
internal import CofferTestSupport
internal import Synchronization

/// What goes wrong with a connection or a server for some time.
package enum RemoteTrouble: CaseIterable, Hashable, Sendable {
    /// Each call takes up to five seconds.
    case slow
    /// A call ends after a minute without an answer.
    case stalled
    /// The connection ends in the middle of a body.
    case cut
    /// A change takes place, and its answer is lost.
    case lostAnswer
    /// A change arrives twice.
    case doubled
    /// The server fails: 500, 502, 504.
    case serverErrors
    /// The server is overloaded, and mostly says for how long: 429, 503.
    case overloaded
    /// There is no space for another object.
    case full
    /// The credentials have ended.
    case expired
    /// A listing is an older one.
    case staleListings
}

/// One client's connection to a remote that is well for some calls, and in some trouble for the next ones.
///
/// Its spells, and all that happens in them, follow from the seed and the calls. It never invents bytes. After
/// `end` it is as good as its base. `FaultyRemote` has faults of single calls; both may be around one base.
package final class UnsteadyRemote: RemoteBackend {
    private struct State {
        var random: SplitMix64
        /// The kinds that occur; empty after the end.
        var kinds: [RemoteTrouble]
        /// The kind of this spell; nil while all is well.
        var current: RemoteTrouble?
        /// Calls until the next spell.
        var left = 0
        var counts: [RemoteTrouble: Int] = [:]
        var listings: [String: RemotePage] = [:]
    }

    /// The most calls of a spell of trouble, and of one without.
    private static let troubleMax = 10, calmMax = 25
    /// The most listings that are kept for repetition.
    private static let listingCountMax = 1000

    private let base: any RemoteBackend
    private let clock: any RemoteClock
    private let state: Mutex<State>

    /// - Parameter kinds: The kinds of trouble that occur.
    package init(
        _ base: any RemoteBackend, _ kinds: [RemoteTrouble] = RemoteTrouble.allCases, seed: UInt64,
        clock: any RemoteClock
    ) {
        self.base = base
        self.clock = clock
        state = Mutex(State(random: SplitMix64(seed: seed), kinds: kinds))
    }

    /// Ends all trouble for good.
    package func end() {
        state.withLock { ($0.kinds, $0.current) = ([], nil) }
    }

    /// How many calls each kind of trouble has met.
    package var counts: [RemoteTrouble: Int] { state.withLock { $0.counts } }

    package var limits: RemoteLimits { base.limits }

    package func describe() -> String { "unsteady \(base.describe())" }

    package func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    package func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        let trouble = try await begin()
        let content = try await base.get(name, range)
        guard trouble == .cut, !content.bytes.isEmpty else { return content }
        throw .short(expected: content.bytes.count, got: below(content.bytes.count))
    }

    package func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        let trouble = try await begin()
        if trouble == .full { throw .full }
        if trouble == .cut {
            throw .unreachable("the connection ended after \(below(bytes.byteCount)) bytes")
        }
        try await base.put(name, bytes, ifAbsent: ifAbsent)
        if trouble == .doubled { try await base.put(name, bytes, ifAbsent: ifAbsent) }
        if trouble == .lostAnswer { throw .unreachable("the answer was lost") }
    }

    package func delete(_ name: RemoteName) async throws(RemoteError) {
        let trouble = try await begin()
        if trouble == .cut { throw .unreachable("the connection ended") }
        try await base.delete(name)
        if trouble == .doubled { try await base.delete(name) }
        if trouble == .lostAnswer { throw .unreachable("the answer was lost") }
    }

    package func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        let trouble = try await begin()
        let key = "\(prefix) \(after?.text ?? "")"
        if trouble == .staleListings, let old = state.withLock({ $0.listings[key] }) { return old }
        let page = try await base.list(prefix, after: after)
        if trouble == .cut { throw .unreachable("the connection ended in the listing") }
        state.withLock { state in
            if state.listings.count >= Self.listingCountMax { state.listings = [:] }
            state.listings[key] = page
        }
        return page
    }

    private func below(_ count: Int) -> Int { state.withLock { $0.random.below(max(1, count)) } }

    /// Counts a call, and does what its spell does to all kinds of calls.
    private func begin() async throws(RemoteError) -> RemoteTrouble? {
        let (trouble, drawn) = state.withLock { state -> (RemoteTrouble?, Int) in
            if state.left == 0 {
                let isTrouble = state.current == nil
                state.current = isTrouble ? state.random.pick(state.kinds) : nil
                state.left = 1 + state.random.below(isTrouble ? Self.troubleMax : Self.calmMax)
            }
            state.left -= 1
            if let current = state.current { state.counts[current, default: 0] += 1 }
            return (state.current, state.random.below(5000))
        }
        switch trouble {
        case .slow: try await clock.sleep(for: .milliseconds(drawn))
        case .stalled:
            try await clock.sleep(for: .seconds(60))
            throw .unreachable("it said nothing for a minute")
        case .serverErrors: throw .failed("status \([500, 502, 504][drawn % 3])")
        case .overloaded: throw .busy(after: drawn % 4 == 0 ? nil : .milliseconds(drawn))
        case .expired: throw .refused("ExpiredToken: the credentials have ended")
        case .cut, .lostAnswer, .doubled, .full, .staleListings, nil: break
        }
        return trouble
    }
}
