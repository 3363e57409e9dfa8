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
    /// The most links that are read of one identity.
    private static let linkCountMax: UInt64 = 1024

    init(_ remote: any RemoteBackend, _ layout: RemoteLayout, _ vault: VaultID) {
        self.remote = remote
        self.layout = layout
        chain = MemberChain(id: ChainID(vault))
    }

    /// Reads all links, and the identities that they name: anybody can put others beside the vault.
    ///
    /// - Throws: `.members` for a link that is wrong; `.linkMissing` where one is not there and a later one is;
    ///   `.remote`.
    mutating func read() async throws(JoinError) {
        var links: [[UInt8]] = []
        while let bytes = try await link(layout.member(UInt64(links.count))) { links.append(bytes) }
        let named = Set(links.compactMap { MemberOperation(ofLink: $0)?.newMember })
        for user in try await users(of: named) { try await readIdentity(user) }
        for bytes in links {
            do throws(TrustError) { try chain.append(bytes, knowing: identities) } catch {
                throw .members(error)
            }
        }
        let layout = layout
        let isBroken = try await reaching { () async throws(RemoteError) in
            try await remote.hasLinks(behind: chain, layout)
        }
        if isBroken { throw .linkMissing(chain.nextSequence) }
    }

    /// Where some identities lie.
    private func users(of identities: Set<IdentityID>) async throws(JoinError) -> [UserID] {
        let layout = layout
        var search = IdentitySearch()
        try await reaching { () async throws(RemoteError) in
            try await search.look(for: identities, at: remote, layout)
        }
        return identities.compactMap { search.users[$0] }.sorted()
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
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(name, byteCountMax: LinkRecord.byteCountMax)
        }
        guard case .bytes(let bytes) = fetched else { return nil }
        return bytes
    }

    private func reaching<Value: Sendable>(
        _ body: () async throws(RemoteError) -> Value
    ) async throws(JoinError) -> Value {
        do throws(RemoteError) { return try await body() } catch { throw .remote(error) }
    }
}

extension MemberOperation {
    /// What a link does, whoever has signed it; nil if that is nothing.
    init?(ofLink bytes: [UInt8]) {
        guard let record = try? LinkRecord(bytes), record.kind == Self.kind else { return nil }
        let body = record.body
        guard let operation = try? unsafe MemberOperation(code: record.code, body: body.span.bytes) else {
            return nil
        }
        self = operation
    }

    /// Who becomes a member by it.
    var newMember: IdentityID? {
        switch self {
        case .createVault(let identity, _, _, _), .addMember(let identity, _, _, _, _): identity
        default: nil
        }
    }
}
