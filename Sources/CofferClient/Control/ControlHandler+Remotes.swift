internal import CofferRemote
internal import CofferSync
internal import CofferSystem

// Requests about remotes and sync.
extension ControlHandler {
    func sync(
        _ name: String?, _ progress: @escaping @Sendable (Progress) -> Void
    ) throws(ClientError) -> [SyncReport] {
        let wanted = if let name { [try shared.named(name)] } else { shared.all }
        var reports: [SyncReport] = []
        for one in wanted {
            // Sync includes data of files that are still open.
            try vaults.store()
            do throws(ClientError) { try one.sync(progress) } catch {
                // A failure of a single vault is the answer; one of several is in its vault's report. If the
                // mount is ending, the other vaults are not tried.
                if name != nil || shared.isEnding { throw error }
            }
            reports.append(one.report(isMounted: mountPoint != nil))
        }
        if name == nil {
            reports += unopened()
            shared.tryJoins()
        }
        return reports
    }

    /// Reports vaults that have a remote and could not be opened, so that they are not synced.
    private func unopened() -> [SyncReport] {
        let (profile, open) = (vaults.profile, Set(shared.all.map(\.share.vault)))
        return profile.shares.filter { $0.hasRemote && !open.contains($0.vault) }.compactMap { share in
            guard let record = profile.vaults.first(where: { $0.id == share.vault }) else { return nil }
            return SyncReport(
                vault: record.name, remote: share.url, role: nil, phase: "idle",
                failure: "it could not be opened; see: coffer status", offlineSince: nil, findings: [],
                unsentItems: 0, commitsLeft: 0, lastRound: nil, rotationOwed: nil, oldEpochBytes: 0,
                devices: [])
        }
    }

    func testRemote(of name: String) throws(ClientError) -> RemoteTestReport {
        let shared = try shared.named(name)
        let (remote, vault) = (try shared.backend(), shared.share.vault)
        return AwaitedTask { await RemoteTest(remote, of: vault).run() }.wait()
    }
}
