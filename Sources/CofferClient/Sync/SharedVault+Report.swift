internal import CofferFUSE
internal import CofferSync
internal import CofferFormat
internal import CofferRemote
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

extension SharedVault {
    /// How sync of the vault stands.
    var report: SyncReport {
        let snapshot = engine.snapshot
        let status = snapshot?.status ?? SyncStatus()
        let chain = snapshot?.chain ?? MemberChain(id: ChainID(share.vault))
        let epoch = chain.state.epoch
        let usage = (try? mounted.vault.epochUsage()) ?? [:]
        let old = usage.filter { $0.key != epoch }.values.reduce(0, +)
        let unsentItems = (try? mounted.vault.unsentCount()) ?? 0
        return SyncReport(
            vault: name, remote: share.url, role: snapshot?.role.map { "\($0)" },
            phase: status.phase.rawValue, failure: status.failure?.description,
            isRemoteFull: status.isRemoteFull && unsentItems > 0,
            offlineSince: status.offlineSince.map { Int64($0 / 1000) },
            findings: status.findings.map(\.description) + renamed(status.devices),
            doubts: status.findings.filter(\.isDoubt).map(\.description),
            unsentItems: unsentItems,
            unsentBytes: unsentItems > 0 ? (try? mounted.vault.unsentByteCount()) ?? 0 : 0,
            commitsLeft: status.progress.commitsLeft,
            sentBytes: Int64(traffic.counts.bytesSent), receivedBytes: Int64(traffic.counts.bytesReceived),
            bytesPerSecond: Int64(traffic.bytesPerSecond),
            asideVault: asideVault.withLock { $0 },
            arrival: status.offlineSince == nil ? arrival : nil,
            lastRound: status.succeededAt.map { Int64($0 / 1000) },
            rotationOwed: Self.text(chain.state.owed), oldEpochBytes: epoch == nil ? 0 : old,
            devices: status.devices.map { device in
                DeviceReport(
                    name: shownName(of: device.identity, device.author.name),
                    label: device.author.label ?? "unknown device",
                    identity: device.identity.description, commit: device.sequence,
                    time: Int64(device.milliseconds / 1000),
                    isMembers: device.isMembers, hasOurs: device.hasAllOfThisDevice,
                    isThis: device.isThisDevice)
            })
    }

    /// What somebody is called here: by the name that was theirs when their words were compared, else by what they say.
    func shownName(of identity: IdentityID, _ claimed: String?) -> String {
        profile.verifiedName(of: identity) ?? Self.name(of: identity, claimed)
    }

    /// Names that members took after their words had been compared.
    private func renamed(_ devices: [DeviceStatus]) -> [String] {
        let names = Set(
            devices.compactMap { device -> String? in
                guard let known = profile.verifiedName(of: device.identity), let name = device.author.name,
                    !name.hasSameBytes(as: known)
                else { return nil }
                return
                    "\(known), whose words you compared, has the name “\(name)” on \(device.author.label ?? "a device")"
            })
        return names.sorted()
    }

    /// How long a remote may take to say of what kind it is, in nanoseconds.
    private static let kindTime: Int64 = 200_000_000

    /// When changes of others show here.
    private var arrival: String? {
        let remote = remote
        guard let isShared = Waiting.run(atMost: Self.kindTime, { await remote.needsLooks() }) else {
            return nil
        }
        return isShared
            ? "others' changes are looked for every 3 s while the vault is used, else every 30 s"
            : "others' changes show at once"
    }
}
