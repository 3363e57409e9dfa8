internal import CofferCrypto
internal import CofferFUSE
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust
internal import CofferVault
internal import Synchronization

// Checks of vaults, and of what their remotes have.
extension ControlHandler {
    func check(
        _ name: String?, remote: CheckRequest.RemoteDepth?, for client: RequestClient
    ) throws(ClientError) -> CheckReport {
        let records = vaults.profile.vaults.filter { name == nil || $0.name.hasSameBytes(as: name ?? "") }
        if records.isEmpty, let name { throw .vaultName(.noSuchVault(name: name)) }
        if remote != nil, let name, (vaults.profile.share(of: records[0].id)?.url ?? "").isEmpty {
            throw .remoteSetting(.noRemote(vault: name))
        }
        var checks: [VaultCheck] = []
        for record in records {
            let url = vaults.profile.share(of: record.id)?.url ?? ""
            guard let mounted = vaults.vault(slot: record.slot) else {
                let text = "The vault cannot be opened."
                let damage = VaultCheck.Damage(path: nil, from: nil, to: nil, text: text)
                var check = VaultCheck(
                    vault: record.name, items: 0, blocks: 0, bytes: 0, isCompared: nil, damage: [damage],
                    unchecked: [])
                if remote != nil, !url.isEmpty {
                    check.remote = RemoteCheck.unopened(
                        url, "The remote was not checked, because the vault cannot be opened.")
                }
                checks.append(check)
                continue
            }
            var check = mounted.check(keys: record.keys, client.progress)
            if let remote, !url.isEmpty {
                check.remote =
                    shared[record.slot].map { $0.checkRemote(remote, for: client) }
                    ?? RemoteCheck.unopened(url, "The remote cannot be opened: coffer sync says why.")
            }
            checks.append(check)
        }
        return CheckReport(vaults: checks)
    }
}

extension SharedVault {
    /// Compares what the remote has with what this device knows.
    fileprivate func checkRemote(_ depth: CheckRequest.RemoteDepth, for client: RequestClient) -> RemoteCheck
    {
        let traffic = traffic
        let last = Mutex(Progress(done: 0, total: 0, isBytes: true))
        let checking = RemoteChecking(
            engine, mounted.vault,
            callCount: { traffic.counts.gets + traffic.counts.lists + traffic.counts.puts },
            isHeard: {
                // A client that has gone is noticed when something is sent to it.
                client.progress(last.withLock { $0 })
                return client.isHeard()
            })
        return checking.run(readsAll: depth == .read, RemoteCheck(remote: share.url)) { done, total in
            let progress = Progress(done: done, total: total, isBytes: true)
            last.withLock { $0 = progress }
            client.progress(progress)
        }
    }
}

extension RemoteCheck {
    /// The result for a remote that cannot be looked at.
    fileprivate static func unopened(_ url: String, _ why: String) -> RemoteCheck {
        var check = RemoteCheck(remote: url)
        check.unchecked.append(why)
        return check
    }
}

extension MountedVault {
    /// Checks the vault; reports failures as unchecked parts.
    fileprivate func check(
        keys: [EpochKey], _ progress: @escaping @Sendable (Progress) -> Void
    ) -> VaultCheck {
        var result = Vault.CheckResult()
        var differences: [String]?
        do throws(FileSystemError) {
            result = try vault.check { progress(Progress(done: $0, total: $1, isBytes: true)) }
        } catch {
            result.unchecked.append("The vault cannot be checked: \(error.summary).")
        }
        do throws(FileSystemError) {
            differences = try vault.differences(keys: keys)
        } catch {
            result.unchecked.append("Items and names cannot be compared with commits: \(error.summary).")
        }
        let damage = result.damage.map {
            VaultCheck.Damage(
                path: $0.path, from: $0.range?.lowerBound, to: $0.range?.upperBound, text: $0.text)
        }
        return VaultCheck(
            vault: name, items: result.items, blocks: result.blocks, bytes: result.bytes,
            isCompared: vault.isTracking ? differences != nil : nil,
            damage: damage
                + (differences ?? []).map { VaultCheck.Damage(path: nil, from: nil, to: nil, text: $0) },
            unchecked: result.unchecked)
    }
}

extension Vault {
    /// Compares the items of a vault that has, or had, a remote with its commits.
    ///
    /// - Returns: The differences as text; nil if they cannot be compared.
    fileprivate func differences(keys: [EpochKey]) throws(FileSystemError) -> [String]? {
        guard let first = keys.first(where: { $0.epoch == .first }) else { return nil }
        do throws(FileSystemError) {
            return try facts.comparisonWithFacts(StateHashKey(first.subkey(StateHashRole.self)))
        } catch {
            guard case .damaged = error else { throw error }
            return ["The facts of the commits cannot be read: \(error.summary)."]
        }
    }
}
