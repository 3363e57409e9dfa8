internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// Finds the identities beside a vault.
///
/// Objects there are named by user, while members are named by the hash of their first link. Anybody can put
/// identities there, and objects that are not identities, so of a user that nobody asks for only the first
/// link is read. Every user gets a turn, since an object that is not a link may become one later; a search
/// that reaches its limit continues from there the next time.
struct IdentitySearch: Sendable {
    /// The most users examined in a round, not counting those that are remembered from then on.
    static let lookCountMax = 1024
    /// The most users examined in a search that a person waits for.
    static let wholeLookCountMax = 1 << 16
    /// The most users that are remembered, not counting those that were asked for.
    private static let userCountMax = 1 << 16
    /// The most users held in memory at a time that have not been examined.
    private static let partCountMax = 1024

    /// The users whose identities were found, wanted or not.
    private(set) var users: [IdentityID: UserID] = [:]
    private var seen: Set<UserID> = []
    /// The name after which the next listing continues; nil to begin at the start.
    private(set) var turn: RemoteName?

    /// Searches until it has found all `identities`, or has examined every new user, or `countMax` users
    /// without an identity.
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
            // Users that are remembered will not be examined again, so they do not count.
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

    /// Some of a listing's users.
    private struct Part {
        var users: [UserID] = []
        /// Whether the listing has no more.
        var isLast = true
    }

    /// The next users, in the listing's order, whose first link has not been read.
    private func unknown(
        at remote: any RemoteBackend, _ layout: RemoteLayout, upTo limit: RemoteName?, countMax: Int
    ) async throws(RemoteError) -> Part {
        var part = Part()
        let (seen, last) = (seen, turn?.user)
        try await remote.list(layout.identities, behind: turn) { entries in
            for entry in entries {
                if let limit, entry.name > limit { return .enough }
                // All names of a user are adjacent.
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

    /// Reads first links, in steps, until it has found all `identities`; the turn is then after the last one
    /// read.
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
            // The last name that a user is expected to have.
            turn = some.last.map { layout.transientKey($0) }
        }
    }
}
