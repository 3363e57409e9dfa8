package import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A change of the members that has begun and is not at the remote yet.
package struct PendingChange: Equatable, Sendable {
    /// The identity that it concerns; nil for a change of the key alone.
    package let identity: IdentityID?
    /// The identity's name, if known.
    package let name: String?
    /// A description for the user.
    package let text: String
}

// Changes that were requested while the remote could not be written; they are made once it can be.
extension SyncEngine {
    /// The change of the members that waits for the remote; nil if none does.
    package func pendingChange() async throws(SyncError) -> PendingChange? {
        try await alone { () async throws(SyncError) in
            try await load()
            return duties.pending.map(change)
        }
    }

    /// Cancels the change of the members that waits for the remote.
    ///
    /// Deletes nothing at the remote: a put that failed may have succeeded after all, or may yet do so. The
    /// set of wraps that it put stays, and is reported if no link names it.
    ///
    /// - Throws: `.membership`: `.nothingPending`; `.tookPlace` if the remote has it already.
    package func cancelPendingChange() async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            try await load()
            guard let pending = duties.pending else { throw .membership(.nothingPending) }
            publish(.members)
            // The remote may have accepted a put that it reported as failed.
            do throws(SyncError) { try await pullMembers() } catch {
                guard case .remote = error else { throw error }
                try await reload()
            }
            // An earlier version of the link, with other bounds, names the same set of wraps.
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

    /// Describes the change that a link would make.
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
