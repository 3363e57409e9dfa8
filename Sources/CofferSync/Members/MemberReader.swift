internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// Reads the members of a vault that this device does not have yet; saves nothing.
struct MemberReader: Sendable {
    private let remote: any RemoteBackend
    private let layout: RemoteLayout
    /// The links verified so far.
    private(set) var chain: MemberChain
    private var identities = KnownIdentities()
    private var search = IdentitySearch()
    /// The most links that are read of one identity.
    private static let linkCountMax: UInt64 = 1024

    /// The most links, and roughly the most bytes of them, that are fetched before they are checked.
    private static let pieceLinkCountMax = 256
    private static let pieceByteCountMax = 4 << 20

    init(_ remote: any RemoteBackend, _ layout: RemoteLayout, _ vault: VaultID) {
        self.remote = remote
        self.layout = layout
        chain = MemberChain(id: ChainID(vault))
    }

    /// Reads all links, and only the identities that they name, since anybody can put others beside the
    /// vault.
    ///
    /// Links are fetched in pieces; each piece is checked before the next is fetched.
    ///
    /// - Throws: `.members` for an invalid link; `.linkMissing` if a link is missing and a later one is
    ///   there; `.linkCut` and `.identityMissing` for what has not arrived whole; `.remote`.
    mutating func read() async throws(JoinError) {
        while true {
            let piece = try await piece()
            for index in piece.indices { try await append(piece[index], in: piece[index...]) }
            if piece.isEmpty { break }
        }
        let layout = layout
        let isBroken = try await reaching { () async throws(RemoteError) in
            try await remote.hasLinks(behind: chain, layout)
        }
        if isBroken { throw .linkMissing(chain.nextSequence) }
    }

    /// The next links at the remote; empty at the end of the chain.
    private func piece() async throws(JoinError) -> [[UInt8]] {
        var links: [[UInt8]] = []
        var byteCount = 0
        while links.count < Self.pieceLinkCountMax, byteCount < Self.pieceByteCountMax,
            let bytes = try await link(layout.member(chain.nextSequence + UInt64(links.count)))
        {
            links.append(bytes)
            byteCount += bytes.count
        }
        return links
    }

    /// Verifies a link.
    ///
    /// The identities that it and the following links name are looked up only once one is needed, so an
    /// invalid link before that costs nothing more.
    private mutating func append(_ bytes: [UInt8], in rest: ArraySlice<[UInt8]>) async throws(JoinError) {
        do throws(TrustError) { return try take(bytes) } catch {
            guard case .identityMissing(let identity) = error, identities[identity] == nil else {
                throw problem(error, of: bytes)
            }
            let named = rest.compactMap { MemberOperation(ofLink: $0)?.newMember }
            try await readIdentity(identity, with: Set(named.filter { identities[$0] == nil }))
        }
        do throws(TrustError) { try take(bytes) } catch { throw problem(error, of: bytes) }
    }

    /// Why the next link is not accepted; a link that is missing or incomplete does not count as an attack.
    private func problem(_ error: TrustError, of bytes: [UInt8]) -> JoinError {
        switch error {
        case .identityMissing(let identity): .identityMissing(identity)
        case .format(.truncated): .linkCut(chain.nextSequence)
        case .format(.notThisKind) where Array("COFFERLK".utf8).starts(with: bytes):
            .linkCut(chain.nextSequence)
        default: .members(error)
        }
    }

    private mutating func take(_ bytes: [UInt8]) throws(TrustError) {
        // A link that the chain already has cannot be the next one.
        guard try chain.append(bytes, knowing: identities) == .added else {
            throw .notLinked(sequence: chain.nextSequence)
        }
    }

    /// Reads the links of an identity, if the remote has it; looks for the others in the same search.
    private mutating func readIdentity(
        _ identity: IdentityID, with others: Set<IdentityID>
    ) async throws(JoinError) {
        if search.users[identity] == nil {
            var search = search
            let layout = layout
            try await reaching { () async throws(RemoteError) in
                try await search.look(
                    for: others.union([identity]), at: remote, layout,
                    countMax: IdentitySearch.wholeLookCountMax)
            }
            self.search = search
        }
        guard let user = search.users[identity] else { return }
        var known = IdentityChain(id: ChainID(user))
        while known.nextSequence < Self.linkCountMax,
            let bytes = try await link(layout.identityLink(user, known.nextSequence))
        {
            // An object that is not a link of this identity must not keep others from being read.
            guard (try? known.append(bytes)) == .added else { break }
        }
        identities.add(known)
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
    /// Decodes what a link does, without checking its signature; nil if it is not a member operation.
    init?(ofLink bytes: [UInt8]) {
        guard let record = try? LinkRecord(bytes), record.kind == Self.kind else { return nil }
        let body = record.body
        guard let operation = try? unsafe MemberOperation(code: record.code, body: body.span.bytes) else {
            return nil
        }
        self = operation
    }

    /// The identity that becomes a member by it.
    var newMember: IdentityID? {
        switch self {
        case .createVault(let identity, _, _, _), .addMember(let identity, _, _, _, _): identity
        default: nil
        }
    }
}
