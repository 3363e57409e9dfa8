internal import CofferFUSE
internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

// Re-encrypts data of older epochs in the background.
extension SharedVault {
    /// The pause between steps.
    private static let pause = Duration.seconds(5)
    /// The number of bytes that a step re-encrypts before they are sent.
    private static let stepByteCount: Int64 = 64 << 20

    /// Re-encrypts data of older epochs step by step, if this device is the one to do it, until the task is
    /// cancelled.
    ///
    /// The vault itself knows what is left, so the work continues after a restart. `coffer status` shows how
    /// much.
    func reencrypt() async {
        let thread = BlockingCalls("coffer-reseal", max: 1)
        var finished = Epoch.first
        while (try? await Task.sleep(for: Self.pause)) != nil {
            let vault = mounted.vault
            let epoch = vault.epoch
            guard epoch > finished, await falls() else { continue }
            let progress = await thread.run { () -> Reencryption.Progress? in
                guard (try? vault.outgoing.unsentCount()) == 0 else { return nil }
                return try? vault.repacking.reencrypt(byteCountMax: Self.stepByteCount)
            }
            guard let progress else { continue }
            if progress.byteCount > 0 { engine.localChange() }
            if progress.isAtEnd, progress.byteCount == 0, progress.skippedByteCount == 0 { finished = epoch }
        }
    }

    /// Whether this device is the one that re-encrypts.
    private func falls() async -> Bool {
        let chain = await engine.chain
        let status = await engine.status
        guard status.failure == nil, let beginning = chain.state.beginnings.last,
            let own = status.devices.first(where: \.isThisDevice)?.author.log
        else { return false }
        let beginner = chain.signer(ofLink: beginning.sequence)
        let writers = status.devices.filter {
            $0.hasNewestKeys && chain.state.members[$0.identity]?.role.may(.write) == true
        }
        return Reencryption.falls(
            to: own, beginners: writers.filter { $0.identity == beginner }.map(\.author.log),
            writers: writers.map(\.author.log))
    }
}
