package import CofferFormat
package import CofferRemote
package import CofferTrust
internal import CofferCrypto

/// Why somebody who was invited does not get in.
package enum JoinError: Error, Equatable {
    /// The invite has ended.
    case expired
    /// The remote does not have the vault.
    case noVault
    /// The remote has another vault than the one that the invite is to.
    case otherVault
    /// A newer Coffer keeps the vault.
    case newerVersion(found: UInt32)
    /// Somebody was admitted by this invite already.
    case used
    /// Nobody is admitted by the invite, as who gave it says.
    case refused(JoinRefusal)
    /// One was about to join, and took that back.
    case cancelled
    /// One is a member already.
    case alreadyMember(Role)
    /// One was a member, and was removed or left, after this invite was used.
    case ended
    /// The identity at the remote is another one, by the same keys.
    case identityForked
    /// A link of the members is not at the remote, and a later one is.
    case linkMissing(UInt64)
    /// A link of the members is cut short at the remote.
    case linkCut(UInt64)
    /// The links of a member's identity are not at the remote, or not all of them.
    case identityMissing(IdentityID)
    /// The members at the remote do not verify.
    case members(TrustError)
    /// The remote failed.
    case remote(RemoteError)

    /// Whether something is just not there that may still come, as a replicated folder brings its files in any order.
    package var isNotArrived: Bool {
        switch self {
        case .linkMissing, .linkCut, .identityMissing: true
        default: false
        }
    }
}

/// How it stands with a request to join.
package enum JoinAnswer: Sendable {
    /// The request lies there; a device of who invited has to see it.
    case waiting
    /// There is no request: it was deleted, or never put. Join again.
    case unasked
    /// One is a member, and the vault's keys are open.
    case admitted(JoinedVault)
}

/// A vault that one has become a member of.
package struct JoinedVault: Sendable {
    /// Its members.
    package let chain: MemberChain
    /// Its keys.
    package let keyring: Keyring
    /// What one may do.
    package let role: Role
}

/// Becoming a member of a vault, for who does not have it yet.
///
/// Everything may be repeated, after a crash too: the request has one name for each identity.
package struct Joining: Sendable {
    private let invite: Invite
    private let card: IdentityCard
    private let keys: any VaultKeys
    private let remote: any RemoteBackend
    private let milliseconds: @Sendable () -> UInt64
    private let layout: RemoteLayout

    /// - Parameters:
    ///   - card: One's own, with the newest transient key; names the identity of `keys`.
    ///   - keys: Sign the request, and open the wrap when it comes.
    ///   - milliseconds: The device's clock, since 1970.
    package init(
        _ invite: Invite, card: IdentityCard, keys: any VaultKeys, remote: any RemoteBackend,
        milliseconds: @escaping @Sendable () -> UInt64
    ) {
        self.invite = invite
        self.card = card
        self.keys = keys
        self.remote = remote
        self.milliseconds = milliseconds
        layout = RemoteLayout(invite.vault)
    }

    /// Checks that the vault is the one that the invite is to, and asks to be admitted: puts the identity beside the
    /// vault, then the request.
    package func join() async throws(JoinError) {
        let chain = try await members()
        if let member = chain.state.members[keys.author.identity] { throw .alreadyMember(member.role) }
        guard !chain.hasUsed(invite.id) else { throw .used }
        try checkTime()
        let request: [UInt8]
        do throws(TrustError) { request = try invite.request(by: card, signing: keys.author.key) } catch {
            throw .members(error)
        }
        let identity = PublishedIdentity(chain: card.identity, transient: card.transient, layout: layout)
        do throws(SyncError) { try await identity.put(at: remote) } catch {
            switch error {
            case .membership(.identityForked): throw .identityForked
            case .remote(let failure, _): throw .remote(failure)
            default: throw .remote(.cancelled)
            }
        }
        do throws(RemoteError) { try await remote.put(requestName, .memory(request), ifAbsent: false) } catch
        {
            throw .remote(error)
        }
    }

    /// Looks whether one was admitted.
    ///
    /// - Throws: also `.used`, `.expired`, `.refused`: nobody will answer any more.
    package func poll() async throws(JoinError) -> JoinAnswer {
        // First: who admits deletes the request last.
        let found = try await reaching { () async throws(RemoteError) -> RemoteContent? in
            do throws(RemoteError) {
                return try await remote.get(requestName, 0..<JoinRefusalRecord.byteCount)
            } catch {
                guard error == .absent else { throw error }
                return nil
            }
        }
        // What is as short tells of another invite.
        let isAsked = (found?.objectByteCount ?? 0) > JoinRefusalRecord.byteCount
        let chain = try await members()
        let identity = keys.author.identity
        if let member = chain.state.members[identity] {
            guard let keyring = try await open(chain) else { return .waiting }
            return .admitted(JoinedVault(chain: chain, keyring: keyring, role: member.role))
        }
        if chain.hasUsed(invite.id) { throw chain.hasKnown(identity) ? .ended : .used }
        if let found, let refusal = invite.refusal(in: found.bytes) { throw .refused(refusal) }
        try checkTime()
        return isAsked ? .waiting : .unasked
    }

    /// Takes the request back, and what was put in its place.
    ///
    /// A device that has read it before may still admit.
    package func withdraw() async throws(JoinError) {
        try await reaching { () async throws(RemoteError) in try await remote.delete(requestName) }
    }

    private func checkTime() throws(JoinError) {
        let time = nanoseconds(milliseconds: milliseconds())
        do throws(TrustError) { try invite.checkTime(time) } catch { throw .expired }
    }

    private var requestName: RemoteName { layout.request(JoinRequestName.of(keys.author.identity)) }

    /// Opens the wrap; nil if the remote does not show it yet.
    private func open(_ chain: MemberChain) async throws(JoinError) -> Keyring? {
        guard let epoch = chain.state.epoch, let hash = chain.wraps(for: keys.author.identity) else {
            return nil
        }
        let name = layout.wraps(epoch: UInt64(epoch.number), hash: hash.bytes)
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(name, byteCountMax: SyncEngine.wrapsByteCountMax)
        }
        guard case .bytes(let bytes) = fetched else { return nil }
        do throws(TrustError) { return try await keys.open(try WrapSet(bytes), of: chain, known: nil) } catch
        {
            // It may have arrived by half.
            if case .format = error { return nil }
            throw .members(error)
        }
    }

    /// The vault's members, which begin as the invite says.
    private func members() async throws(JoinError) -> MemberChain {
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(layout.format, byteCountMax: RemoteFormat.byteCount)
        }
        guard case .bytes(let bytes) = fetched else { throw .noVault }
        do throws(FormatError) { _ = try RemoteFormat(bytes) } catch {
            if case .newerVersion(let found, _) = error { throw .newerVersion(found: found) }
            throw .noVault
        }
        var reader = MemberReader(remote, layout, invite.vault)
        try await reader.read()
        guard reader.chain.nextSequence > 0 else { throw .noVault }
        do throws(TrustError) { try invite.checkChain(reader.chain) } catch { throw .otherVault }
        return reader.chain
    }

    private func reaching<Value: Sendable>(
        _ body: () async throws(RemoteError) -> Value
    ) async throws(JoinError) -> Value {
        do throws(RemoteError) { return try await body() } catch { throw .remote(error) }
    }
}

extension JoinError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .expired: "the invite has expired: ask for another one"
        case .noVault: "the remote does not have this vault, or it has not arrived there yet"
        case .otherVault:
            "the remote has another vault than the one that the invite is to: somebody may be cheating"
        case .newerVersion(let found): "the vault has format version \(found): a newer Coffer is needed"
        case .used: "somebody else was admitted by this invite: tell who invited you"
        case .refused(.withdrawn): "the invite was withdrawn: ask for another one"
        case .refused(.noRight): "who invited you may not admit you: ask somebody else"
        case .cancelled: "the request was taken back"
        case .alreadyMember: "you are a member of this vault already"
        case .ended: "you were admitted by this invite, and are a member no longer"
        case .identityForked: "the remote has other links of your identity than this device"
        case .members(let error): "the vault's members cannot be trusted: \(MembershipError.sentence(error))"
        case .linkMissing(let sequence):
            """
            link \(sequence) of the vault's members has not arrived at the remote, and later ones have. If the folder is \
            replicated, wait until it is complete; otherwise a member's device restores the link when it syncs
            """
        case .linkCut(let sequence):
            """
            link \(sequence) of the vault's members has not arrived whole at the remote. If the folder is replicated, wait \
            until it is complete
            """
        case .identityMissing(let identity):
            """
            the identity of the member \(identity.description.prefix(16)) has not arrived at the remote. If the folder is \
            replicated, wait until it is complete; otherwise that member's device restores it when it syncs
            """
        case .remote(let error): error.description
        }
    }
}
