internal import CofferFUSE
internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferTrust

// Deletes vaults at their remote.
extension SharedVaults {
    /// Deletes all objects of a vault at its remote, and stops syncing it; the vault stays on this device.
    ///
    /// After a failure it can be called again. The format object is deleted last: once it is gone, all
    /// objects are.
    ///
    /// - Parameter progress: Called with the number of deleted objects, and the number of all.
    /// - Throws: `.noRemote`, `.notOwner`; `.othersAreMembers` if other members would lose the vault.
    func deleteAtRemote(_ name: String, _ progress: (Progress) -> Void) throws(ClientError) {
        let shared = try named(name)
        // Without the mark, an empty place may be a directory whose filesystem is not mounted.
        if profile.use(of: shared.share.vault).isBeingDeleted, try !shared.hasFormat() {
            try alone(shared.share.vault, name) { () throws(ClientError) in
                forget(shared.mounted.slot)
                try profile.giveUpShare(of: shared.share.vault)
            }
            return
        }
        // The members may have changed.
        try shared.sync { _ in }
        let members = try shared.membersReport().members
        guard members.contains(where: { $0.isThis && $0.role == "\(Role.owner)" }) else {
            throw .remoteSetting(.notOwner(vault: name))
        }
        guard members.count == 1 else {
            throw .remoteSetting(.othersAreMembers(vault: name, count: members.count - 1))
        }
        try alone(shared.share.vault, name) { () throws(ClientError) in
            forget(shared.mounted.slot)
            do throws(ClientError) {
                try shared.deleteObjects(progress) { () throws(ClientError) in
                    try profile.changeUse(of: shared.share.vault) { $0.isBeingDeleted = true }
                }
            } catch {
                // Allows another attempt.
                _ = try? open(shared.mounted, profile.share(of: shared.share.vault) ?? shared.share)
                throw error
            }
            try profile.giveUpShare(of: shared.share.vault)
        }
    }
}

extension SharedVault {
    /// Whether the remote has the vault's format object.
    fileprivate func hasFormat() throws(ClientError) -> Bool {
        let (remote, layout) = (remote, RemoteLayout(share.vault))
        do throws(RemoteError) {
            return try AwaitedTask { () async throws(RemoteError) in
                try await remote.hasObject(layout.format)
            }.wait()
        } catch {
            throw .remoteSetting(.failed(url: share.url, error))
        }
    }

    /// Deletes all objects of the vault at its remote, the format object last.
    ///
    /// - Parameter isLast: Called before the format object is deleted, to record that its absence means
    ///   success; a place without it may otherwise just not be mounted.
    fileprivate func deleteObjects(
        _ progress: (Progress) -> Void, isLast: () throws(ClientError) -> Void
    ) throws(ClientError) {
        let (remote, layout) = (remote, RemoteLayout(share.vault))
        do throws(RemoteError) {
            let names = try AwaitedTask { () async throws(RemoteError) in
                try await remote.names(below: layout.prefix).filter { $0 != layout.format }
            }.wait()
            for (index, name) in names.enumerated() {
                try AwaitedTask { () async throws(RemoteError) in try await remote.delete(name) }.wait()
                progress(Progress(done: index + 1, total: names.count))
            }
        } catch {
            throw .remoteSetting(.failed(url: share.url, error))
        }
        try isLast()
        do throws(RemoteError) {
            try AwaitedTask { () async throws(RemoteError) in
                try await remote.delete(layout.format)
                // The vault is gone; empty directories do no harm.
                try? await remote.tidy(layout.prefix)
            }.wait()
        } catch {
            throw .remoteSetting(.failed(url: share.url, error))
        }
    }
}

extension RemoteBackend {
    /// Lists all names below a prefix.
    func names(below prefix: RemotePrefix) async throws(RemoteError) -> [RemoteName] {
        var (names, after): ([RemoteName], RemoteName?) = ([], nil)
        repeat {
            let page = try await list(prefix, after: after)
            names += page.entries.map(\.name)
            after = page.next
        } while after != nil
        return names
    }
}
