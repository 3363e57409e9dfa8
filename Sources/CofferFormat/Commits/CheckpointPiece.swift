internal import CofferSystem

/// A part of the facts of a checkpoint.
///
/// As stored:
///
///     offset  bytes  field
///          0      8  "COFFERCC"
///          8      4  format version, 1
///         12     16  vault id
///         28     16  id of the log whose author made the checkpoint
///         44      8  sequence of the checkpoint
///         52      4  epoch
///         56      4  number of the piece, from 0
///         60      …  the facts, padded, a sealed record; bytes 0 to 59 are associated data
///
/// The facts are groups; each has those facts of one commit that still hold:
///
///     bytes  field
///        16  log id
///         8  sequence
///         8  hybrid logical clock
///         4  n, bytes of the facts
///         n  the facts (`FactRecord`), which replace nothing
package enum CheckpointPiece {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest size of a piece as stored: 4 MiB.
    package static let byteCountMax = 4 << 20
    /// The size of the header before the sealed part, in bytes.
    package static let headerByteCount = 60

    /// The facts of one commit that still hold.
    package struct Group: Equatable, Sendable {
        /// The commit.
        package let stamp: Stamp
        /// The facts that still hold; at most one for each register.
        package let facts: [Fact]

        package init(stamp: Stamp, facts: [Fact]) {
            self.stamp = stamp
            self.facts = facts
        }

        /// The encoded group.
        package var bytes: [UInt8] {
            let facts = FactRecord.bytes(facts)
            var writer = ByteWriter(capacity: facts.count + 36)
            writer.identifier(stamp.dot.log)
            writer.number(stamp.dot.sequence)
            writer.number(stamp.clock)
            writer.number(UInt32(facts.count))
            writer.append(facts)
            return writer.finish()
        }
    }

    /// The header of a piece: 60 bytes.
    package static func header(_ vault: VaultID, _ checkpoint: Dot, _ epoch: Epoch, number: UInt32) -> [UInt8]
    {
        var writer = ByteWriter(capacity: headerByteCount)
        writer.header("COFFERCC", version: version)
        writer.identifier(vault)
        writer.identifier(checkpoint.log)
        writer.number(checkpoint.sequence)
        writer.number(epoch.number)
        writer.number(number)
        return writer.finish()
    }

    /// The plaintext of a piece: groups one after another, padded.
    package static func padded(groups: [UInt8]) -> [UInt8] { Padding.padded(groups) }

    /// Reads the groups from the plaintext of a piece.
    ///
    /// - Parameter areCommits: Whether the groups are whole commits, whose facts may replace others; those of a
    ///   checkpoint replace nothing.
    /// - Throws: any `FormatError`.
    package static func groups(padded: [UInt8], areCommits: Bool = false) throws(FormatError) -> [Group] {
        let content = try Padding.content(of: padded)
        let span = unsafe content.span.bytes
        var cursor = ByteCursor()
        var groups: [Group] = []
        var byteCount = 0
        while byteCount < content.count {
            let log = try cursor.identifier(LogID.self, from: span)
            let dot = Dot(log: log, sequence: try cursor.number(UInt64.self, from: span))
            guard dot.sequence > 0 else { throw .invalid(field: "sequence") }
            let clock = try cursor.number(UInt64.self, from: span)
            let range = try cursor.range(Int(try cursor.number(UInt32.self, from: span)), of: span)
            let facts = try FactRecord.facts(span.extracting(range))
            guard areCommits || facts.allSatisfy(\.replaces.isEmpty) else {
                throw .invalid(field: "replaced values")
            }
            groups.append(Group(stamp: Stamp(clock: clock, dot: dot), facts: facts))
            byteCount += 36 + range.count
        }
        return groups
    }
}
