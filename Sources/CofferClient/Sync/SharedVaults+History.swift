internal import CofferFUSE
internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

// How long vaults keep their past: a setting that all members of a vault share.
extension SharedVaults {
    /// Runs something while no program looks at the past of the vault in a slot.
    typealias WithoutPast = @Sendable (UInt16, () throws(ClientError) -> Void) throws(ClientError) -> Void

    /// Sets how long the past of a vault is kept: for all members, if it has a remote.
    ///
    /// Until an owner or admin has done so, other members can set it for their own devices.
    ///
    /// - Throws: What `SharedVault.keepHistory` throws; then nothing has changed on this device.
    func keepHistory(of mounted: MountedVault, _ retention: History.Retention) throws(ClientError) {
        try self[mounted.slot]?.keepHistory(retention)
        try mounted.setHistory(to: retention, withoutPast)
    }
}

extension SharedVault {
    /// Has all members' devices keep the past for a time; does nothing if that is this member's own affair.
    ///
    /// - Throws: `.sync` if the role does not allow it, or if the change waits; `.remoteSetting` if the remote fails.
    fileprivate func keepHistory(_ retention: History.Retention) throws(ClientError) {
        let seconds = retention.seconds
        try changing { engine async throws(SyncError) in try await engine.keepHistory(seconds: seconds) }
    }

    /// Tells the members how long this device keeps the past, if no link says how long they do.
    func publishHistory() throws(ClientError) {
        let retention: History.Retention
        do throws(FileSystemError) { retention = try mounted.vault.history.retention() } catch {
            throw .vault(error)
        }
        let chain = AwaitedTask { [engine] in await engine.chain }.wait()
        if retention != .none, chain.state.historySeconds == nil { try keepHistory(retention) }
    }

    /// Keeps the past for as long as a link says; a snapshot on this device stays, even if that is for no time.
    func applyHistory() async {
        guard let seconds = await engine.chain.state.historySeconds, historySet.withLock({ $0 }) != seconds
        else {
            return
        }
        await BlockingCalls("coffer-history", max: 1).run { [self] in
            do throws(ClientError) {
                if try keepHistoryHere(for: seconds) { historySet.withLock { $0 = seconds } }
            } catch {
                // While somebody looks at a state, the history stays on; the next round tries again.
                if case .vault(.busy) = error { return }
                problems.add("“\(name)”: how long the past is kept could not be set: \(error)")
            }
        }
    }

    /// - Returns: Whether it is kept for that time; false if there are snapshots.
    private func keepHistoryHere(for seconds: Int64) throws(ClientError) -> Bool {
        let history = mounted.vault.history
        var wanted = History.Retention(seconds)
        let isSet: Bool
        do throws(FileSystemError) {
            if wanted == .none, try !history.snapshots().isEmpty { wanted = .seconds(1) }
            isSet = try history.retention() == wanted
        } catch {
            throw .vault(error)
        }
        if !isSet { try mounted.setHistory(to: wanted, withoutPast) }
        return wanted == History.Retention(seconds)
    }
}

extension MountedVault {
    /// Sets how long the past is kept on this device.
    ///
    /// - Parameter withoutPast: Runs something while no program looks at the past.
    fileprivate func setHistory(
        to retention: History.Retention, _ withoutPast: SharedVaults.WithoutPast
    ) throws(ClientError) {
        func set() throws(ClientError) {
            do throws(FileSystemError) { try vault.history.set(retention) } catch { throw .vault(error) }
        }
        // The hidden directory comes or goes.
        if retention != .none, vault.history.isOn { return try set() }
        try withoutPast(slot, set)
    }
}
