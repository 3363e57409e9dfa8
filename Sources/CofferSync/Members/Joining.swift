package import CofferFormat
package import CofferRemote
package import CofferTrust
internal import CofferCrypto

/// Why an invited user does not become a member.
package enum JoinError: Error, Equatable {
    /// The invite has expired.
    case expired
    /// The remote does not have the vault.
    case noVault
    /// The invite is to another vault than the remote's.
    case otherVault
    /// The vault's format is newer than this program.
    case newerVersion(found: UInt32)
    /// Somebody was admitted by this invite before.
    case used
    /// The maker of the invite refuses to admit anybody by it.
    case refused(JoinRefusal)
    /// The user has withdrawn the request to join.
    case cancelled
    /// The user is a member already.
    case alreadyMember(Role)
    /// The user became a member by this invite, and has since been removed or left.
    case ended
    /// The remote has another identity by the same keys.
    case identityForked
    /// The remote lacks a link of the member chain, but has a later one.
    case linkMissing(UInt64)
    /// The remote has only the beginning of a link of the member chain.
    case linkCut(UInt64)
    /// The remote lacks links of a member's identity.
    case identityMissing(IdentityID)
    /// The members at the remote fail verification.
    case members(TrustError)
    /// The remote failed.
    case remote(RemoteError)

    /// Whether an object is only missing so far: a replicated folder brings its files in any order.
    package var isNotArrived: Bool {
        switch self {
        case .linkMissing, .linkCut, .identityMissing: true
        default: false
        }
    }
}

/// The state of a request to join.
package enum JoinAnswer: Sendable {
    /// The request is at the remote; no device of the invite's maker has answered it yet.
    case waiting
    /// There is no request: it was deleted, or never put. Join again.
    case unasked
    /// The user is a member, and the vault's keys are open.
    case admitted(JoinedVault)
}

/// A vault that this user has just joined.
package struct JoinedVault: Sendable {
    /// Its members.
    package let chain: MemberChain
    /// Its keys.
    package let keyring: Keyring
    /// This user's role.
    package let role: Role
}

/// Joins a vault that this device does not have yet.
///
/// Every step may be repeated, also after a crash: each identity has exactly one name for its request.
package struct Joining: Sendable {
    private let invite: Invite
    private let card: IdentityCard
    private let keys: any VaultKeys
    private let objects: RemoteObjects
    private let milliseconds: @Sendable () -> UInt64

    /// - Parameters:
    ///   - card: The user's own, with the newest transient key; names the identity of `keys`.
    ///   - keys: Sign the request, and open the wrap once it is there.
    ///   - milliseconds: The device's clock, since 1970.
    package init(
        _ invite: Invite, card: IdentityCard, keys: any VaultKeys, remote: any RemoteBackend,
        milliseconds: @escaping @Sendable () -> UInt64
    ) {
        self.invite = invite
        self.card = card
        self.keys = keys
        self.milliseconds = milliseconds
        objects = RemoteObjects(remote: remote, layout: RemoteLayout(invite.vault), phase: .members)
    }

    /// Asks to be admitted: puts the identity beside the vault, then the request.
    ///
    /// First checks that the vault is the one that the invite is to.
    package func join() async throws(JoinError) {
        let chain = try await members()
        if let member = chain.state.members[keys.author.identity] { throw .alreadyMember(member.role) }
        guard !chain.hasUsed(invite.id) else { throw .used }
        try checkTime()
        let request: [UInt8]
        do throws(TrustError) { request = try invite.request(by: card, signing: keys.author.key) } catch {
            throw .members(error)
        }
        let identity = PublishedIdentity(chain: card.identity, transient: card.transient)
        try await reaching { () async throws(SyncError) in
            try await identity.put(at: objects)
            try await objects.put(requestName, request)
        }
    }

    /// Checks whether the user was admitted.
    ///
    /// - Throws: also `.used`, `.expired`, `.refused`: waiting any longer is useless.
    package func poll() async throws(JoinError) -> JoinAnswer {
        // The request is read first, since the device that admits deletes it last.
        let (remote, name) = (objects.remote, requestName)
        let found = try await reaching { () async throws(SyncError) in
            try await objects.reaching { () async throws(RemoteError) -> RemoteContent? in
                do throws(RemoteError) {
                    return try await remote.get(name, 0..<JoinRefusalRecord.byteCount)
                } catch {
                    guard error == .absent else { throw error }
                    return nil
                }
            }
        }
        // An object as short as a refusal may be one of another invite.
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

    /// Deletes the request, or the refusal that replaced it.
    ///
    /// A device that has read the request before may still admit the user.
    package func withdraw() async throws(JoinError) {
        try await reaching { () async throws(SyncError) in try await objects.delete(requestName) }
    }

    private func checkTime() throws(JoinError) {
        let time = nanoseconds(milliseconds: milliseconds())
        do throws(TrustError) { try invite.checkTime(time) } catch { throw .expired }
    }

    private var requestName: RemoteName { objects.layout.request(JoinRequestName.of(keys.author.identity)) }

    /// Opens the wrap; nil if the remote does not have it yet.
    private func open(_ chain: MemberChain) async throws(JoinError) -> Keyring? {
        guard let epoch = chain.state.epoch, let hash = chain.wraps(for: keys.author.identity) else {
            return nil
        }
        let fetched = try await reaching { () async throws(SyncError) in
            try await objects.fetch(
                objects.layout.wraps(hash, of: epoch), byteCountMax: WrapSet.byteCountMax)
        }
        guard case .bytes(let bytes) = fetched else { return nil }
        do throws(TrustError) { return try await keys.open(try WrapSet(bytes), of: chain, known: nil) } catch
        {
            // Only a part of it may have arrived.
            if case .format = error { return nil }
            throw .members(error)
        }
    }

    /// The vault's members; checks that their chain begins as the invite says.
    private func members() async throws(JoinError) -> MemberChain {
        let fetched = try await reaching { () async throws(SyncError) in
            try await objects.fetch(objects.layout.format, byteCountMax: RemoteFormat.byteCount)
        }
        guard case .bytes(let bytes) = fetched else { throw .noVault }
        do throws(FormatError) { _ = try RemoteFormat(bytes) } catch {
            if case .newerVersion(let found, _) = error { throw .newerVersion(found: found) }
            throw .noVault
        }
        let chain = try await readMembers()
        guard chain.nextSequence > 0 else { throw .noVault }
        do throws(TrustError) { try invite.checkChain(chain) } catch { throw .otherVault }
        return chain
    }

    /// All links of the member chain at the remote.
    ///
    /// - Throws: `.members` for an invalid link; `.linkMissing` if a link is missing and a later one is
    ///   there; `.linkCut` and `.identityMissing` for what has not arrived whole; `.remote`.
    private func readMembers() async throws(JoinError) -> MemberChain {
        var reader = MemberReader(KnownMembers(vault: invite.vault), objects, .newcomer)
        let end: MemberReader.End
        do throws(SyncError) { end = try await reader.readLinks() } catch { throw JoinError(error) }
        let chain = reader.members.chain
        if case .refused(let bytes, let reason) = end {
            throw JoinError(reason ?? .notLinked(sequence: chain.nextSequence), of: bytes, after: chain)
        }
        let isBroken = try await reaching { () async throws(SyncError) in
            try await objects.hasLinks(behind: chain)
        }
        if isBroken { throw .linkMissing(chain.nextSequence) }
        return chain
    }

    private func reaching<Value: Sendable>(
        _ body: () async throws(SyncError) -> Value
    ) async throws(JoinError) -> Value {
        do throws(SyncError) { return try await body() } catch { throw JoinError(error) }
    }
}

extension JoinError {
    /// A failure while objects were fetched or put.
    fileprivate init(_ error: SyncError) {
        self =
            switch error {
            case .membership(.identityForked): .identityForked
            case .remote(let failure, _): .remote(failure)
            default: .remote(.cancelled)
            }
    }

    /// Why the next link is not accepted; a link that is missing or incomplete does not count as an attack.
    fileprivate init(_ reason: TrustError, of link: [UInt8], after chain: MemberChain) {
        self =
            switch reason {
            case .identityMissing(let identity): .identityMissing(identity)
            case .format(.truncated): .linkCut(chain.nextSequence)
            case .format(.notThisKind) where Array("COFFERLK".utf8).starts(with: link):
                .linkCut(chain.nextSequence)
            default: .members(reason)
            }
    }
}

extension JoinError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .expired: "the invite has expired: ask for another one"
        case .noVault: "the remote does not have this vault, or it has not arrived there yet"
        case .otherVault:
            "the invite is to another vault than the remote has: somebody may be deceiving you"
        case .newerVersion(let found): "the vault has format version \(found), which needs a newer Coffer"
        case .used: "somebody else was admitted by this invite: tell the person who invited you"
        case .refused(.withdrawn): "the invite was withdrawn: ask for another one"
        case .refused(.noRight): "the person who invited you may not admit you: ask another member"
        case .cancelled: "the request to join was withdrawn"
        case .alreadyMember: "you are already a member of this vault"
        case .ended: "you were admitted by this invite, and are no longer a member"
        case .identityForked: "the remote has other links of your identity than this device has"
        case .members(let error): "the vault's members fail verification: \(MembershipError.sentence(error))"
        case .linkMissing(let sequence):
            """
            link \(sequence) of the vault's members has not arrived at the remote, and later ones have. \
            If the folder is replicated, wait until it is complete; otherwise a member's device restores the \
            link when it syncs
            """
        case .linkCut(let sequence):
            """
            link \(sequence) of the vault's members has not arrived completely at the remote. If the \
            folder is replicated, wait until it is complete
            """
        case .identityMissing(let identity):
            """
            the identity of the member \(identity.description.prefix(16)) has not arrived at the remote. If \
            the folder is replicated, wait until it is complete; otherwise that member's device restores it \
            when it syncs
            """
        case .remote(let error): error.description
        }
    }
}
