internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// Finds where identities lie beside a vault.
///
/// Objects there are named by users, and members by the hash of their first link. Anybody can put identities there: of
/// those that nobody asks for, no more than the first link is read, once.
struct IdentitySearch: Sendable {
    /// The most users that are looked at, and that are remembered.
    private static let userCountMax = 1 << 16

    /// Where identities lie that were found, wanted or not.
    private(set) var users: [IdentityID: UserID] = [:]
    private var seen: Set<UserID> = []

    /// Looks for identities until all are found, or nothing new is there.
    mutating func look(
        for identities: Set<IdentityID>, at remote: any RemoteBackend, _ layout: RemoteLayout
    ) async throws(RemoteError) {
        guard !identities.allSatisfy({ users[$0] != nil }) else { return }
        var new: Set<UserID> = []
        let known = seen
        try await remote.list(layout.identities) { entries in
            new.formUnion(entries.compactMap { $0.name.user }.filter { !known.contains($0) })
            return known.count + new.count < Self.userCountMax ? .next : .enough
        }
        let step = max(1, remote.limits.concurrentCallsMax)
        var rest = new.sorted()[...]
        while !rest.isEmpty, !identities.allSatisfy({ users[$0] != nil }) {
            let some = Array(rest.prefix(step))
            rest = rest.dropFirst(step)
            let fetched = await remote.fetchAll(
                some, named: { layout.identityLink($0, 0) }, byteCountMax: LinkRecord.byteCountMax)
            for user in some {
                guard let result = fetched[user], case .bytes(let bytes) = try result.get() else { continue }
                var chain = IdentityChain(id: ChainID(user))
                // What is no link may be one later.
                guard (try? chain.append(bytes)) == .added, let identity = chain.identity else { continue }
                seen.insert(user)
                users[identity] = user
            }
        }
    }
}
