package import CofferFormat
internal import CofferTrust
internal import CofferRemote

/// The effect of a removal: what the removed member can still read, and what not.
package struct RemovalReceipt: Equatable, Sendable {
    /// The removed member.
    package let identity: IdentityID
    /// Its name; nil if unknown here.
    package let name: String?
    /// The member that removed it.
    package let remover: IdentityID
    /// The time of the removal, in nanoseconds since 1970, by the remover's clock.
    package let time: Int64
    /// The last epoch whose key the removed member has.
    ///
    /// It can read data sealed under this epoch or an earlier one, if it gets the bytes.
    package let endedEpoch: Epoch
    /// The last commit of each log that is sealed with a key that the removed member has.
    package let readable: [LogBound]
    /// The last commits of the removed member's own logs that count.
    package let bounds: LogBounds
    /// Bytes in the vault now that are sealed with keys that the removed member has.
    package let oldByteCount: UInt64
    /// Bytes in the vault now that are sealed with keys that it does not have.
    package let newByteCount: UInt64
}

extension SyncEngine {
    /// A receipt for each removal, in order.
    ///
    /// Asks the remote for the commits around each change of the key, if it still has them.
    ///
    /// - Parameter usage: Returns how many bytes in the vault now are sealed under each epoch.
    package func removalReceipts(
        usage: @Sendable () async -> [Epoch: UInt64]
    ) async throws(SyncError) -> [RemovalReceipt] {
        let usage = await usage()
        return try await alone { () async throws(SyncError) in
            try await load()
            var receipts: [RemovalReceipt] = []
            for removal in chain.state.removals {
                let ended = Epoch(removal.epoch.number - 1)
                let old = usage.filter { $0.key <= ended }.values.reduce(0) { $0 &+ $1 }
                let all = usage.values.reduce(0) { $0 &+ $1 }
                receipts.append(
                    RemovalReceipt(
                        identity: removal.identity, name: knownName(of: removal.identity),
                        remover: removal.remover, time: removal.time, endedEpoch: ended,
                        readable: try await lastCommits(before: removal), bounds: removal.bounds,
                        oldByteCount: old, newByteCount: all &- old))
            }
            return receipts
        }
    }

    /// The last commit of each log that names a link before a removal, and so is sealed with an older key.
    private func lastCommits(before removal: MemberLedger.Removal) async throws(SyncError) -> [LogBound] {
        var bounds: [LogBound] = []
        for summary in logs.values.sorted(by: { $0.log < $1.log }) {
            if summary.head.members.sequence < removal.sequence {
                bounds.append(
                    LogBound(log: summary.log, sequence: summary.head.sequence, hash: summary.head.hash))
            } else if let bound = try await lastCommit(of: summary, below: removal.epoch) {
                bounds.append(bound)
            }
        }
        return bounds
    }

    /// Finds the last commit of a log below an epoch by binary search: epochs never decrease in a log.
    private func lastCommit(of log: LogSummary, below epoch: Epoch) async throws(SyncError) -> LogBound? {
        var (low, high) = (UInt64(0), log.head.sequence)
        var last: LogBound?
        while high - low > 1 {
            let middle = low + (high - low) / 2
            let dot = Dot(log: log.log, sequence: middle)
            let name = layout.commit(dot.log, dot.sequence)
            let bytes = try await fetchAll([name], byteCountMax: SignedRecord.byteCountMax)[name]
            if let bytes, let commit = try? verifier().authentic(bytes, at: dot) {
                if let record = try? SignedRecord(bytes, as: .commit), record.epoch >= epoch {
                    high = middle
                    continue
                }
                last = LogBound(log: dot.log, sequence: dot.sequence, hash: commit.point.hash)
            }
            // A commit that is gone is covered by a checkpoint, so it is older than those that are still
            // there.
            low = middle
        }
        return last
    }
}
