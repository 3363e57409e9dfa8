internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

extension KnownLogs {
    /// The silence after which nothing waits for a log any more, in milliseconds by the newest clock: 90 days.
    private static let silenceMax: UInt64 = 90 * 86_400_000

    /// The logs that others wait for before they delete anything, with this device's own.
    ///
    /// - Parameters:
    ///   - now: The time by this device's clock, in milliseconds.
    ///   - countsOwn: Whether this device's own commits show how much time has passed. A device that was away
    ///     itself must not take the others for silent.
    func active(_ chain: MemberChain, at now: UInt64, countsOwn: Bool) -> [LogSummary] {
        // A single clock that is ahead, this device's or another's, must not make the other logs appear
        // silent.
        let clocks = applied.values.filter { countsOwn || $0.log != own }.map(\.clock)
        let newest = min(now, (clocks.max() ?? 0) >> 16)
        return applied.values.filter { summary in
            if summary.log == own { return true }
            let last = summary.clock >> 16
            let isSilent = newest > last && newest - last > Self.silenceMax
            let isMember = chain.state.members[summary.author]?.keys != nil
            return isMember && !isSilent && !isLeft(summary.log, chain)
        }
    }

    /// Whether every active log has a commit whose author had applied the announcement of a checkpoint, so that
    /// nobody needs what it covers.
    ///
    /// - Parameter now: The time by this device's clock, in milliseconds.
    func haveAcknowledged(_ checkpoint: CheckpointStanding, _ chain: MemberChain, at now: UInt64) -> Bool {
        active(chain, at: now, countsOwn: true).allSatisfy {
            $0.log == own || checkpoint.acknowledged.contains($0.log)
        }
    }
}

extension RemoteObjects {
    /// The most names that are deleted in one round.
    private static let deletedCountMax = 100_000

    /// Deletes what a checkpoint covers: commits, and older checkpoints with their pieces.
    func deleteCovered(by checkpoint: CheckpointStanding) async throws(SyncError) {
        for (log, last) in checkpoint.covered.sequences.sorted(by: { $0.key < $1.key }) {
            try await deleteAll(below: layout.log(log)) { RemoteLayout.sequence(of: $0) ?? .max <= last }
        }
        // An older checkpoint goes if its announcement is covered.
        try await deleteAll(below: layout.checkpoints) { name in
            guard let dot = name.checkpoint, dot != checkpoint.dot else { return false }
            return dot.sequence < checkpoint.covered[dot.log]
        }
    }

    private func deleteAll(
        below prefix: RemotePrefix, where isWanted: (RemoteName) -> Bool
    ) async throws(SyncError) {
        var names: [RemoteName] = []
        try await list(prefix) { entries in
            names += entries.map(\.name).filter(isWanted).prefix(Self.deletedCountMax - names.count)
            return .next
        }
        for name in names { try await delete(name) }
    }
}
