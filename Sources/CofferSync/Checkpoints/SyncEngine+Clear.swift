internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Deletes what checkpoints cover.
extension SyncEngine {
    /// The silence after which checkpoints no longer wait for a log, in milliseconds by the newest clock: 90
    /// days.
    private static let silenceMax: UInt64 = 90 * 86_400_000

    /// Deletes the commits that this device's checkpoint covers, once every active log has applied the
    /// announcement.
    func clearCovered() async throws(SyncError) {
        guard let checkpoint = standing, checkpoint.dot.log == setup.log, !checkpoint.isCleared else {
            return
        }
        // A single clock that is ahead, this device's or another's, must not make the other logs appear
        // silent.
        let newest = min(setup.milliseconds(), (logs.values.map(\.clock).max() ?? 0) >> 16)
        for (log, summary) in logs where log != setup.log && !isLeft(log) {
            let last = summary.clock >> 16
            let isSilent = newest > last && newest - last > Self.silenceMax
            let isMember = chain.state.members[summary.author]?.keys != nil
            guard checkpoint.acknowledged.contains(log) || isSilent || !isMember else { return }
        }
        publish(.checkpoint)
        for (log, sequence) in checkpoint.covered.sequences.sorted(by: { $0.key < $1.key }) {
            try await delete(below: sequence, in: layout.log(log))
        }
        try await deleteCheckpoints(coveredBy: checkpoint)
        standing?.isCleared = true
        try await saveCheckpoints()
    }

    /// Deletes commits up to and including a number.
    private func delete(below last: UInt64, in prefix: RemotePrefix) async throws(SyncError) {
        // Names are in the order of numbers, so no name after the last wanted one matters.
        let names = try await names(prefix) { RemoteLayout.sequence(of: $0) ?? .max <= last }
        for name in names {
            try await reaching { () async throws(RemoteError) in try await remote.delete(name) }
        }
    }

    /// Deletes older checkpoints with their pieces: those whose announcement the given one covers.
    private func deleteCheckpoints(coveredBy checkpoint: CheckpointStanding) async throws(SyncError) {
        let names = try await names(layout.checkpoints) { name in
            guard let dot = checkpointDot(name), dot != checkpoint.dot else { return false }
            return dot.sequence < checkpoint.covered[dot.log]
        }
        for name in names {
            try await reaching { () async throws(RemoteError) in try await remote.delete(name) }
        }
    }

    /// The wanted names below a prefix, at most 100,000.
    private func names(
        _ prefix: RemotePrefix, where isWanted: (RemoteName) -> Bool
    ) async throws(SyncError) -> [RemoteName] {
        var names: [RemoteName] = []
        try await list(prefix) { entries in
            names += entries.map(\.name).filter(isWanted).prefix(100_000 - names.count)
            return .next
        }
        return names
    }

    /// The checkpoint that a record or a piece belongs to.
    func checkpointDot(_ name: RemoteName) -> Dot? {
        let segments = name.segments
        guard segments.count == 5, let log = LogID(hexadecimal: String(segments[3])),
            let digits = segments[4].split(separator: "-").first, digits.utf8.count == 16,
            let sequence = UInt64(digits, radix: 16), 1...Dot.sequenceMax ~= sequence
        else { return nil }
        return Dot(log: log, sequence: sequence)
    }
}
