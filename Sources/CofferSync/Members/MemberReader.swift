internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// Reads a vault's members for who has nothing of the vault yet; keeps nothing.
struct MemberReader: Sendable {
    private let remote: any RemoteBackend
    private let layout: RemoteLayout
    /// What was verified.
    private(set) var chain: MemberChain
    private var identities = KnownIdentities()
    /// The most identities that are read: all members, and as many who are none any more.
    private static let identityCountMax = 2 * TrustLimits.memberCountMax
    /// The most links that are read of one identity.
    private static let linkCountMax: UInt64 = 1024

    init(_ remote: any RemoteBackend, _ layout: RemoteLayout, _ vault: VaultID) {
        self.remote = remote
        self.layout = layout
        chain = MemberChain(id: ChainID(vault))
    }

    /// Reads all identities, then all links.
    ///
    /// - Throws: `.members` for a link that is wrong; `.remote`.
    mutating func read() async throws(JoinError) {
        for user in try await users() { try await readIdentity(user) }
        while let bytes = try await link(layout.member(chain.nextSequence)) {
            do throws(TrustError) { try chain.append(bytes, knowing: identities) } catch {
                throw .members(error)
            }
        }
    }

    private func users() async throws(JoinError) -> [UserID] {
        var users: Set<UserID> = []
        do throws(RemoteError) {
            try await remote.list(layout.identities) { entries in
                users.formUnion(entries.compactMap { $0.name.user })
                return users.count < Self.identityCountMax ? .next : .enough
            }
        } catch {
            throw .remote(error)
        }
        return users.sorted()
    }

    private mutating func readIdentity(_ user: UserID) async throws(JoinError) {
        var identity = IdentityChain(id: ChainID(user))
        while identity.nextSequence < Self.linkCountMax,
            let bytes = try await link(layout.identityLink(user, identity.nextSequence))
        {
            // What is no link of this identity keeps nobody else from being known.
            guard (try? identity.append(bytes)) == .added else { break }
        }
        identities.add(identity)
    }

    private func link(_ name: RemoteName) async throws(JoinError) -> [UInt8]? {
        do throws(RemoteError) {
            guard case .bytes(let bytes) = try await remote.fetch(name, byteCountMax: LinkRecord.byteCountMax)
            else { return nil }
            return bytes
        } catch {
            throw .remote(error)
        }
    }
}
