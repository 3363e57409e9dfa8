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

extension RemovalReceipt {
    init(
        _ removal: MemberLedger.Removal, name: String?, readable: [LogBound], usage: [Epoch: UInt64]
    ) {
        let ended = Epoch(removal.epoch.number - 1)
        let old = usage.filter { $0.key <= ended }.values.reduce(0) { $0 &+ $1 }
        let all = usage.values.reduce(0) { $0 &+ $1 }
        self.init(
            identity: removal.identity, name: name, remover: removal.remover, time: removal.time,
            endedEpoch: ended, readable: readable, bounds: removal.bounds, oldByteCount: old,
            newByteCount: all &- old)
    }
}

/// Finds the commits that a removed member can read, as they are sealed with keys that it has.
struct ReadableCommits: Sendable {
    let objects: RemoteObjects
    let verifier: CommitVerifier
    let removal: MemberLedger.Removal

    /// The last commit of each log that names a link before the removal, and so is sealed with an older key.
    func last(of logs: [LogID: LogSummary]) async throws(SyncError) -> [LogBound] {
        var bounds: [LogBound] = []
        for summary in logs.values.sorted(by: { $0.log < $1.log }) {
            if summary.head.members.sequence < removal.sequence {
                bounds.append(summary.bound)
            } else if let bound = try await last(of: summary) {
                bounds.append(bound)
            }
        }
        return bounds
    }

    /// Finds the last commit of a log below the epoch by binary search: epochs never decrease in a log.
    private func last(of log: LogSummary) async throws(SyncError) -> LogBound? {
        var (low, high) = (UInt64(0), log.head.sequence)
        var last: LogBound?
        while high - low > 1 {
            let middle = low + (high - low) / 2
            let dot = Dot(log: log.log, sequence: middle)
            if let bytes = try await objects.commit(dot).bytes,
                let commit = try? verifier.authentic(bytes, at: dot)
            {
                if let record = try? SignedRecord(bytes, as: .commit), record.epoch >= removal.epoch {
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
