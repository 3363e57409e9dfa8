import CofferFacts
import CofferFormat
import CofferStore
import CofferSystem

import CofferVault

/// Keeps commits unchanged, as rows by their numbers.
final class PlainRecorder: CommitRecorder {
    static let kind = KeptRow.Kind.outgoing
    let isNeeded: Bool
    let takesChanges = true
    let movesContents = true

    init(isNeeded: Bool = false) { self.isNeeded = isNeeded }

    func check(_ versions: VersionVector) throws(SealingError) {}

    func record(_ commit: FactCommit, stateHash: StateHash) throws(SealingError) -> [KeptChange] {
        let key = KeptRow.Key(
            Self.kind, id: commit.stamp.dot.log.bytes, number: commit.stamp.dot.sequence)
        return [KeptChange(key, CommitRecord.bytes(commit))]
    }
}

extension Vault {
    /// The kept commits, in order.
    func keptCommits() throws -> [FactCommit] {
        try facts.keptRows().filter { $0.key.kind == PlainRecorder.kind }.map {
            try CommitRecord.commit($0.value.span.bytes)
        }
    }
}

/// A commit as it was made.
///
///     offset  bytes  field
///          0      1  format version, 1
///          1      8  clock
///          9     16  log
///         25      8  sequence
///         33      1  1 if there is a label, which follows: its length 2, and UTF-8
///          …      4  number of logs in the version vector, then log 16 and sequence 8 of each, ascending
///          …      …  the facts, as the body of a commit
enum CommitRecord {
    static let version: UInt8 = 1

    static func bytes(_ commit: FactCommit) -> [UInt8] {
        let facts = FactRecord.bytes(commit.facts)
        var writer = ByteWriter(capacity: 256 + facts.count)
        writer.number(version)
        writer.number(commit.stamp.clock)
        writer.identifier(commit.stamp.dot.log)
        writer.number(commit.stamp.dot.sequence)
        writer.number(UInt8(commit.label == nil ? 0 : 1))
        if let label = commit.label { writer.text(label) }
        let versions = commit.versions.sequences.sorted { $0.key < $1.key }
        writer.number(UInt32(versions.count))
        for (log, sequence) in versions {
            writer.identifier(log)
            writer.number(sequence)
        }
        writer.append(facts)
        return writer.finish()
    }

    static func commit(_ bytes: RawSpan) throws(FormatError) -> FactCommit {
        var cursor = ByteCursor()
        guard try cursor.number(UInt8.self, from: bytes) == version else { throw .invalid(field: "version") }
        let clock = try cursor.number(UInt64.self, from: bytes)
        let log = try cursor.identifier(LogID.self, from: bytes)
        let dot = Dot(log: log, sequence: try cursor.number(UInt64.self, from: bytes))
        let label: String?
        switch try cursor.number(UInt8.self, from: bytes) {
        case 0: label = nil
        case 1: label = try cursor.text("label", from: bytes)
        default: throw .invalid(field: "label")
        }
        var versions = VersionVector()
        var last: LogID?
        for _ in 0..<(try cursor.number(UInt32.self, from: bytes)) {
            let log = try cursor.identifier(LogID.self, from: bytes)
            if let last, last >= log { throw .invalid(field: "order of logs") }
            last = log
            versions[log] = try cursor.number(UInt64.self, from: bytes)
        }
        let facts = try FactRecord.facts(bytes.extracting(cursor.offset..<bytes.byteCount))
        return FactCommit(
            stamp: Stamp(clock: clock, dot: dot), versions: versions, label: label, facts: facts)
    }
}
