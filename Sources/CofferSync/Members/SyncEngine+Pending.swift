package import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A change of the members that was begun and is not at the remote yet.
package struct PendingChange: Equatable, Sendable {
    /// Whom it concerns; nil for a change of the key alone.
    package let identity: IdentityID?
    /// What that is called, as far as it is known.
    package let name: String?
    /// What it is, for people.
    package let text: String
}

// What was asked for while the remote could not be written, and is done once it can be.
extension SyncEngine {
    /// The change of the members that waits for the remote; nil if none does.
    package func pendingChange() async throws(SyncError) -> PendingChange? {
        try await alone { () async throws(SyncError) in
            try await load()
            return duties.pending.map(change)
        }
    }

    /// Gives up the change of the members that waits for the remote.
    ///
    /// Nothing is deleted at the remote: a put that failed may have had its effect, or may have it later. The set of
    /// wraps that it put stays, and is named if no link names it.
    ///
    /// - Throws: `.membership`: `.nothingPending`; `.tookPlace` if the remote has it already.
    package func cancelPendingChange() async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            try await load()
            guard let pending = duties.pending else { throw .membership(.nothingPending) }
            publish(.members)
            // The remote may have taken what it said to have refused.
            do throws(SyncError) { try await pullMembers() } catch {
                guard case .remote = error else { throw error }
                try await reload()
            }
            // An earlier form of the link, with other bounds, has the same set of wraps.
            let set = pending.wraps.flatMap { try? WrapSet($0) }
            let tookPlace =
                chain.links.contains { $0.bytes == pending.link }
                || chain.state.grants.contains { $0.wraps == set?.hash }
            if let set { try await keepWraps([set]) }
            try await asking { () async throws(ReplicaError) in try await replica.save(PendingLink.noRows) }
            duties.pending = nil
            guard !tookPlace else { throw .membership(.tookPlace) }
        }
        wakes.wake(.all)
    }

    /// What a link would do, in words.
    func change(_ pending: PendingLink) -> PendingChange {
        let operation = MemberOperation(ofLink: pending.link)
        let identity: IdentityID? =
            switch operation {
            case .createVault(let identity, _, _, _), .addMember(let identity, _, _, _, _),
                .changeRole(let identity, _, _), .removeMember(let identity, _, _),
                .memberKeysRolled(let identity, _, _):
                identity
            case .leave: ownIdentity
            case .rotateKey, .restoreFromBackup, nil: nil
            }
        let name = identity.map(name(of:)) ?? ""
        let text =
            switch operation {
            case .createVault: "sharing the vault"
            case .addMember: "adding \(name)"
            case .changeRole(_, let role, _): "making \(name) \(role)"
            case .removeMember: "removing \(name)"
            case .memberKeysRolled: "recording the new keys of \(name)"
            case .leave: "leaving the vault"
            case .rotateKey: "changing the vault's key"
            case .restoreFromBackup: "announcing a restore"
            case nil: "a change of the members"
            }
        return PendingChange(identity: identity, name: identity.flatMap(knownName), text: text)
    }
}
