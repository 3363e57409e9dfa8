internal import CofferFUSE
internal import CofferSync
internal import CofferFormat
internal import CofferRemote
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

extension SharedVault {
    /// The state of the vault's sync, for `coffer status` and `coffer sync`.
    ///
    /// - Parameter isMounted: Whether a mount keeps the vault synced.
    func report(isMounted: Bool) -> SyncReport {
        let snapshot = engine.snapshot
        let status = snapshot?.status ?? SyncStatus()
        let chain = snapshot?.chain ?? MemberChain(id: ChainID(share.vault))
        let epoch = chain.state.epoch
        let usage = (try? mounted.vault.repacking.epochUsage()) ?? [:]
        let old = usage.filter { $0.key != epoch }.values.reduce(0, +)
        let unsentItems = (try? mounted.vault.outgoing.unsentCount()) ?? 0
        let unsentBytes = unsentItems > 0 ? (try? mounted.vault.outgoing.unsentByteCount()) ?? 0 : 0
        let sentBytes = Int64(traffic.counts.bytesSent)
        return SyncReport(
            vault: name, remote: share.url, role: snapshot?.role.map { "\($0)" },
            phase: status.phase.rawValue, failure: status.failure?.description,
            isRemoteFull: status.isRemoteFull && unsentItems > 0,
            hasLogin: (try? Self.url(share.url))?.loginPlace.map { profile.login(at: $0) != nil } ?? false,
            offlineSince: status.offlineSince.map { Int64($0 / 1000) },
            findings: status.findings.map(text) + waiting(snapshot) + renamed(status.devices),
            doubts: status.findings.filter(\.isDoubt).map(\.description),
            repairs: status.findings.filter(\.isRepair).map(\.description),
            unsentItems: unsentItems,
            unsentBytes: unsentEstimate.left(of: unsentBytes, sent: sentBytes),
            commitsLeft: status.progress.commitsLeft,
            sentBytes: sentBytes, receivedBytes: Int64(traffic.counts.bytesReceived),
            bytesPerSecond: Int64(traffic.bytesPerSecond),
            asideVault: asideVault.withLock { $0 },
            arrival: arrival(isMounted: isMounted, isOffline: status.offlineSince != nil),
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

    /// A finding as text, with the command that ends it, if there is one.
    private func text(_ finding: SyncFinding) -> String {
        guard case .membership(.postponed(let what, let member)) = finding else { return finding.description }
        return Self.waiting(what, member, in: name)
    }

    static func waiting(_ change: String, _ member: String, in vault: String) -> String {
        """
        \(change) waits until the remote accepts it; to cancel it, use: \
        \(ClientError.cancelling(member, in: vault))
        """
    }

    /// The change of the members that waits for the remote, before the first round has reported it.
    private func waiting(_ snapshot: SyncSnapshot?) -> [String] {
        guard snapshot == nil else { return [] }
        let engine = engine
        let change = try? AwaitedTask { () async throws(SyncError) in try await engine.pendingChange() }
            .wait()
        return change.map { [Self.waiting($0.text, $0.argument, in: name)] } ?? []
    }

    /// This user's identity.
    var ownIdentity: IdentityID { AwaitedTask { [engine] in await engine.ownIdentity }.wait() }

    /// The logs of the devices that have changed the vault.
    func knownLogs() throws(ClientError) -> [KnownLog] {
        try asking { engine async throws(SyncError) in try await engine.knownLogs() }
    }

    /// The name to show for an identity: the one it had when its words were compared, otherwise the claimed
    /// one.
    func shownName(of identity: IdentityID, _ claimed: String?) -> String {
        profile.verifiedName(of: identity) ?? Self.name(of: identity, claimed)
    }

    /// Findings about members who changed their name after their words were compared.
    private func renamed(_ devices: [DeviceStatus]) -> [String] {
        let names = Set(
            devices.compactMap { device -> String? in
                guard let known = profile.verifiedName(of: device.identity), let name = device.author.name,
                    !name.hasSameBytes(as: known)
                else { return nil }
                return
                    "\(known), whose words you compared, now uses the name “\(name)” on \(device.author.label ?? "a device")"
            })
        return names.sorted()
    }

    /// How long to wait for a remote to tell whether it needs polling, in nanoseconds.
    private static let kindTime: Int64 = 200_000_000

    /// A text about how soon others' changes appear; nil if the remote does not answer.
    private func arrival(isMounted: Bool, isOffline: Bool) -> String? {
        guard isMounted else { return "not mounted: only “coffer sync” sends and fetches changes" }
        if isOffline { return nil }
        let remote = remote
        switch AwaitedTask({ await remote.visibility() }).wait(nanoseconds: Self.kindTime) {
        case .reported: return "others' changes appear at once"
        case .polled:
            return "others' changes appear within 3 s while the vault is in use, otherwise within 30 s"
        case .delayed:
            return """
                others' changes appear as soon as the folder shows them: Coffer looks every 3 s while the vault is in use, \
                otherwise every 30 s
                """
        case nil: return nil
        }
    }
}
