import CofferFormat

// Commits and checkpoints: writers to the remote choose the records, and members choose the sealed content.
extension Decoder {
    private static let log = LogID(low: 1, high: 2)
    private static let point = CommitPoint(
        sequence: 3, hash: .zero, members: LinkHead(sequence: 0, hash: .zero), writes: true)

    private static func commit() throws -> CommitBody {
        CommitBody(
            previous: .zero, clock: 1, stateHash: .zero,
            heads: try LogBounds([LogBound(log: log, sequence: 3, hash: .zero)]),
            introduction: try LogIntroduction(name: "Ann", label: "ä"),
            notices: [.checkpoint(sequence: 1, .zero), .confirmation(Dot(log: log, sequence: 2), .zero)],
            facts: [Fact(.kind(ItemID(low: 1, high: 1), .file))])
    }

    /// Records as stored, and bodies of commits.
    static let commits = Decoder(name: "commits", byteCountMax: 1024) {
        let dot = Dot(log: log, sequence: 1)
        let header = SignedRecord.header(.commit, VaultID(low: 1, high: 1), dot, .first, bodyByteCount: 560)
        let record = header + [UInt8](repeating: 0, count: 560 + RecordSeal.byteCount + 40)
        return [record, try commit().paddedBytes]
    } run: { bytes in
        if let record = try? SignedRecord(bytes, as: .commit) {
            try expect(record.signedBytes + record.seal == bytes, "a record changes")
            try expect(record.header + record.body == record.signedBytes, "a record changes")
            return .taken
        }
        guard let body = try? CommitBody(padded: bytes) else { return .refused }
        try expect(body.paddedBytes == bytes, "a commit has two encodings")
        return .taken
    }

    /// Bodies of checkpoints, their pieces, and seals.
    static let checkpoints = Decoder(name: "checkpoints", byteCountMax: 1024) {
        let summary = LogSummary(
            log: log, author: .zero, introduction: try LogIntroduction(name: "Ann", label: "ä"), clock: 1,
            head: point, lastWrite: point)
        let body = CheckpointBody(
            clock: 1, stateHash: .zero, logs: [summary],
            pieces: [.init(hash: .zero, facts: .zero, byteCount: 700)])
        let group = CheckpointPiece.Group(
            stamp: Stamp(clock: 1, dot: Dot(log: log, sequence: 1)),
            facts: [Fact(.kind(ItemID(low: 1, high: 1), .file))])
        let seal = RecordSeal(
            author: .zero, members: point.members, writes: true, signature: [UInt8](repeating: 1, count: 64))
        return [body.paddedBytes, CheckpointPiece.padded(groups: group.bytes), seal.bytes]
    } run: { bytes in
        if let seal = try? RecordSeal(bytes) {
            try expect(seal.bytes == bytes, "a seal has two encodings")
            return .taken
        }
        if let body = try? CheckpointBody(padded: bytes) {
            try expect(body.paddedBytes == bytes, "a checkpoint has two encodings")
            return .taken
        }
        guard let groups = try? CheckpointPiece.groups(padded: bytes) else { return .refused }
        try expect(
            CheckpointPiece.padded(groups: groups.flatMap(\.bytes)) == bytes, "a piece has two encodings")
        return .taken
    }
}
