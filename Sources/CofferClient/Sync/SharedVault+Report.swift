internal import CofferFUSE
internal import CofferSync
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

extension SharedVault {
    /// How sync of the vault stands.
    var report: SyncReport {
        let snapshot = engine.snapshot
        let status = snapshot?.status ?? SyncStatus()
        let chain = snapshot?.chain ?? MemberChain(id: ChainID(share.vault))
        let epoch = chain.state.epoch
        let usage = (try? mounted.vault.epochUsage()) ?? [:]
        let old = usage.filter { $0.key != epoch }.values.reduce(0, +)
        return SyncReport(
            vault: name, remote: share.url, role: snapshot?.role.map { "\($0)" },
            phase: status.phase.rawValue, failure: status.failure?.description,
            offlineSince: status.offlineSince.map { Int64($0 / 1000) },
            findings: status.findings.map(\.description),
            unsentItems: (try? mounted.vault.unsentCount()) ?? 0,
            commitsLeft: status.progress.commitsLeft,
            lastRound: status.succeededAt.map { Int64($0 / 1000) },
            rotationOwed: Self.text(chain.state.owed), oldEpochBytes: epoch == nil ? 0 : old,
            devices: status.devices.map { device in
                DeviceReport(
                    name: Self.name(of: device.identity, device.author.name),
                    label: device.author.label ?? "unknown device", commit: device.sequence,
                    time: Int64(device.milliseconds / 1000),
                    isMembers: device.isMembers, hasOurs: device.hasAllOfThisDevice,
                    isThis: device.isThisDevice)
            })
    }
}
