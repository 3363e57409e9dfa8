internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// Finds where identities lie beside a vault.
///
/// Objects there are named by users, and members by the hash of their first link. Anybody can put identities there, and
/// what is none: of those that nobody asks for, no more than the first link is read. All have their turn, since what is no
/// link may be one later; a search that found too many goes on behind them the next time.
struct IdentitySearch: Sendable {
    /// The most users that are looked at in a round, but for those that are remembered from then on.
    static let lookCountMax = 1024
    /// The most users that somebody looks at who waits for it.
    static let wholeLookCountMax = 1 << 16
    /// The most users that are remembered, but for those that were asked for.
    private static let userCountMax = 1 << 16
    /// How many users are in memory at a time that were not looked at yet.
    private static let partCountMax = 1024

    /// Where identities lie that were found, wanted or not.
    private(set) var users: [IdentityID: UserID] = [:]
    private var seen: Set<UserID> = []
    /// Behind which name a listing goes on; nil at its beginning.
    private(set) var turn: RemoteName?

    /// Looks for identities until all are found, all that is new was looked at, or so many users were that are none.
    mutating func look(
        for identities: Set<IdentityID>, at remote: any RemoteBackend, _ layout: RemoteLayout,
        countMax: Int = lookCountMax
    ) async throws(RemoteError) {
        let start = turn
        var hasBegunAnew = start == nil
        var left = countMax
        while left > 0, !hasFound(identities) {
            let limit = hasBegunAnew ? start : nil
            let part = try await unknown(
                at: remote, layout, upTo: limit, countMax: min(left, Self.partCountMax))
            let before = seen.count
            try await read(part.users, for: identities, at: remote, layout)
            // Those that are remembered are not looked at again.
            left -= part.users.count - (seen.count - before)
            guard part.isLast, !hasFound(identities) else { continue }
            turn = hasBegunAnew ? start : nil
            if hasBegunAnew { return }
            hasBegunAnew = true
        }
    }

    private func hasFound(_ identities: Set<IdentityID>) -> Bool {
        identities.allSatisfy { users[$0] != nil }
    }

    /// Some users of a listing.
    private struct Part {
        var users: [UserID] = []
        /// Whether the listing has no more.
        var isLast = true
    }

    /// The next users of a listing whose first link was not read yet, in its order.
    private func unknown(
        at remote: any RemoteBackend, _ layout: RemoteLayout, upTo limit: RemoteName?, countMax: Int
    ) async throws(RemoteError) -> Part {
        var part = Part()
        let (seen, last) = (seen, turn?.user)
        try await remote.list(layout.identities, behind: turn) { entries in
            for entry in entries {
                if let limit, entry.name > limit { return .enough }
                // All names of a user stand together.
                guard let user = entry.name.user, user != part.users.last, user != last,
                    !seen.contains(user)
                else { continue }
                guard part.users.count < countMax else {
                    part.isLast = false
                    return .enough
                }
                part.users.append(user)
            }
            return .next
        }
        return part
    }

    /// Reads first links, in steps, until all identities are found; the turn is then behind the last one that was read.
    private mutating func read(
        _ new: [UserID], for identities: Set<IdentityID>, at remote: any RemoteBackend, _ layout: RemoteLayout
    ) async throws(RemoteError) {
        let step = max(1, remote.limits.concurrentCallsMax)
        var rest = new[...]
        while !rest.isEmpty, !hasFound(identities) {
            let some = Array(rest.prefix(step))
            rest = rest.dropFirst(step)
            let fetched = await remote.fetchAll(
                some, named: { layout.identityLink($0, 0) }, byteCountMax: LinkRecord.byteCountMax)
            for user in some {
                guard let result = fetched[user], case .bytes(let bytes) = try result.get() else { continue }
                var chain = IdentityChain(id: ChainID(user))
                guard (try? chain.append(bytes)) == .added, let identity = chain.identity else { continue }
                guard users.count < Self.userCountMax || identities.contains(identity) else { continue }
                seen.insert(user)
                users[identity] = user
            }
            // The last name that a user should have.
            turn = some.last.map { layout.transientKey($0) }
        }
    }
}
