internal import CofferFUSE
internal import CofferFormat
internal import CofferSync
internal import CofferTrust
internal import CofferVault

// What was sealed before the keys changed is sealed anew, in the background.
extension SharedVault {
    /// How often it is looked whether there is something to do.
    private static let pause = Duration.seconds(5)
    /// Bytes that are sealed anew before they are sent.
    private static let stepByteCount: Int64 = 64 << 20

    /// Seals anew what is of older epochs, a step at a time, where that falls to this device; until the task is
    /// cancelled.
    ///
    /// What is left is known from the vault itself, so it goes on after a restart. `status` tells how much that is.
    func reencrypt() async {
        let thread = BlockingThread("coffer-reseal")
        var finished = Epoch.first
        while (try? await Task.sleep(for: Self.pause)) != nil {
            let vault = mounted.vault
            let epoch = vault.epoch
            guard epoch > finished, await falls() else { continue }
            let progress = await thread.run { () -> Reencryption.Progress? in
                guard (try? vault.unsentCount()) == 0 else { return nil }
                return try? vault.reencrypt(byteCountMax: Self.stepByteCount)
            }
            guard let progress else { continue }
            if progress.byteCount > 0 { engine.localChange() }
            if progress.isAtEnd, progress.byteCount == 0, progress.skippedByteCount == 0 { finished = epoch }
        }
    }

    /// Whether it falls to this device.
    private func falls() async -> Bool {
        let chain = await engine.chain
        let status = await engine.status
        guard status.failure == nil, let beginning = chain.state.beginnings.last,
            let own = status.devices.first(where: \.isThisDevice)?.author.log
        else { return false }
        let beginner = chain.signer(ofLink: beginning.sequence)
        let writers = status.devices.filter {
            chain.state.members[$0.identity]?.role.may(.write) == true
        }
        return Reencryption.falls(
            to: own, beginners: writers.filter { $0.identity == beginner }.map(\.author.log),
            writers: writers.map(\.author.log))
    }
}
