internal import CofferCrypto
internal import CofferFUSE
internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

// What pairing and revoking devices need of the vaults.
extension SharedVaults {
    /// What another device of the person needs.
    func bundle(_ devices: DeviceChain) throws(ClientError) -> PairingBundle {
        // Makes the identity if there is none yet.
        _ = try profile.publicIdentity()
        let body = profile.state.withLock { $0.body }
        guard let identity = body.publicIdentity else { throw .trust(.wrongPlace) }
        var bundle = PairingBundle(
            identity: body.identity, publicIdentity: identity, devices: body.devices ?? devices)
        (bundle.verified, bundle.verifiedNames) = (body.verified, body.verifiedNames)
        var left = PairingBundle.linkByteCountMax
        for share in body.shares where share.hasRemote {
            guard let record = body.vaults.first(where: { $0.id == share.vault }) else { continue }
            var vault = PairingBundle.Vault(
                id: record.id, name: record.name, url: share.url,
                isForReading: profile.use(of: record.id).isForReading, keys: record.keys, lost: record.lost)
            let links = links(of: record)
            let byteCount = links.reduce(0) { $0 + $1.value.count }
            if byteCount <= left {
                left -= byteCount
                vault.links = links
            }
            bundle.vaults.append(vault)
        }
        return bundle
    }

    /// Syncs all vaults as far as that is possible in a time, in nanoseconds.
    func sync(atMost limit: Int64, _ progress: (Progress) -> Void) {
        let end = Clock.monotonic + limit
        let all = all
        for (index, one) in all.enumerated() {
            // The others get their share, too.
            let share = (end - Clock.monotonic) / Int64(all.count - index)
            _ = try? one.sync(atMost: max(share, 0), progress)
        }
    }

    /// Checks that this device has the person's newest keys, as far as its vaults know them; with others, what it
    /// adds to the person's chains would fork them.
    ///
    /// - Throws: `.sync(_, .membership(.keysReplaced))`.
    func checkNewestKeys() throws(ClientError) {
        let own = try profile.publicIdentity().chain
        for shared in all {
            let engine = shared.engine
            let isStale = AwaitedTask { await engine.knowsLinks(besides: own) }.wait()
            if isStale {
                throw .sync(vault: shared.name, .membership(.keysReplaced))
            }
        }
    }

    /// The links of a vault that this device has verified; none of a vault that is not open.
    private func links(of record: VaultRecord) -> [KeptRow] {
        guard let mounted = vaults.vault(slot: record.slot), let rows = try? mounted.vault.facts.keptRows()
        else { return [] }
        return rows.filter { PairingBundle.linkKinds.contains($0.key.kind) }
    }

    /// Adds the vaults of another device that are not here yet.
    ///
    /// Each begins empty, with a log of its own, and with the links that the other device has verified, so that
    /// the remote cannot show this device another history. The content comes from the remote. A vault that cannot be
    /// added is a problem, and can be added by the next refresh.
    func add(_ bundle: PairingBundle) {
        for vault in bundle.vaults where !profile.vaults.contains(where: { $0.id == vault.id }) {
            do throws(ClientError) { try add(vault) } catch {
                problems.add("The vault “\(vault.name)” could not be added: \(error)")
            }
        }
    }

    private func add(_ vault: PairingBundle.Vault) throws(ClientError) {
        let log = LogID(low: Random.number(), high: Random.number())
        let share = VaultShare(vault: vault.id, url: vault.url, log: log)
        try profile.changeUse(of: vault.id) { $0.isForReading = vault.isForReading }
        let name = try freeName(nil, for: vault.id, called: vault.name)
        let store = JoinedStore(share: share, keys: vault.keys, lost: vault.lost, rows: vault.links)
        let mounted = try vaults.create(name, joined: store, owner: .current)
        rootChanged(name)
        do throws(ClientError) { _ = try open(mounted, share) } catch {
            // The remote may have another path on this machine, or not be there yet.
            problems.add("The vault “\(name)” cannot be synced: \(error)")
        }
    }

    /// Makes the sync of all vaults use the identity keys that the profile has now.
    func renewKeys() {
        for shared in all {
            let mounted = shared.mounted
            do throws(ClientError) {
                try alone(shared.share.vault, mounted.name) { () throws(ClientError) in
                    guard forget(mounted.slot) else {
                        throw .remoteSetting(.vaultBusy(name: mounted.name))
                    }
                    guard let share = profile.share(of: shared.share.vault), share.hasRemote else { return }
                    _ = try open(mounted, share)
                }
            } catch {
                problems.add("The vault “\(mounted.name)” needs another mount for your new keys: \(error)")
            }
        }
    }
}

extension SharedVault {
    /// What became of the person's new identity keys in the vault.
    enum Renewal: Equatable {
        /// The members know the new keys, and the vault's key was changed.
        case rotated
        /// The members know the new keys; the device of an owner or admin changes the vault's key.
        case owed
        /// The remote does not have the new keys yet.
        case waiting
    }

    /// How far the vault is with the identity keys that the profile has now.
    func renewal() -> Renewal {
        let engine = engine
        let chain = AwaitedTask { await engine.chain }.wait()
        guard let identity = try? profile.publicIdentity(),
            chain.state.members[identity.id]?.keys == identity.chain.state.current
        else { return .waiting }
        return chain.state.owed.isEmpty ? .rotated : .owed
    }
}
