internal import CofferSystem

/// Distinguishes hashes of pieces of checkpoints from other values.
package enum PieceHashKind {}
/// The hash of a piece of a checkpoint: of its bytes as stored, or of its facts.
package typealias PieceHash = Bytes32<PieceHashKind>

/// What a checkpoint covers, and where its facts are; the body of a `SignedRecord`.
///
///     bytes  field
///         8  the highest hybrid logical clock of all commits that it covers
///        32  hash of the tree that is shown
///         2  number of logs, 1 to 4096, then each (`LogSummary`), in ascending order of log ids
///         4  number of pieces, then of each:
///               32  hash of the piece as stored
///               32  hash of the facts in it, the same for every device that has these facts
///                4  bytes of the piece as stored
package struct CheckpointBody: Equatable, Sendable {
    /// The largest number of pieces of a checkpoint.
    package static let pieceCountMax = 1 << 16

    /// Where a part of the facts is, and what it contains.
    package struct Piece: Hashable, Sendable {
        /// The hash of the piece as stored.
        package let hash: PieceHash
        /// The hash of the facts in it.
        package let facts: PieceHash
        /// The size of the piece as stored, in bytes.
        package let byteCount: UInt32

        package init(hash: PieceHash, facts: PieceHash, byteCount: UInt32) {
            self.hash = hash
            self.facts = facts
            self.byteCount = byteCount
        }
    }

    /// The highest hybrid logical clock of all commits that it covers.
    package let clock: UInt64
    /// The hash of the tree that is shown.
    package let stateHash: StateHash
    /// The last commit of every log that it covers.
    package let logs: [LogSummary]
    /// The pieces that contain the facts.
    package let pieces: [Piece]

    /// Makes a body; sorts the logs.
    package init(clock: UInt64, stateHash: StateHash, logs: [LogSummary], pieces: [Piece]) {
        self.clock = clock
        self.stateHash = stateHash
        self.logs = logs.sorted { $0.log < $1.log }
        self.pieces = pieces
    }

    /// The commits that it covers.
    package var versions: VersionVector {
        var versions = VersionVector()
        for log in logs { versions[log.log] = log.head.sequence }
        return versions
    }

    /// The plaintext of the body, padded.
    package var paddedBytes: [UInt8] {
        var writer = ByteWriter(capacity: 256 + 68 * pieces.count)
        writer.number(clock)
        writer.append(stateHash.bytes)
        writer.number(UInt16(logs.count))
        for log in logs { log.write(into: &writer) }
        writer.number(UInt32(pieces.count))
        for piece in pieces {
            writer.bytes32(piece.hash)
            writer.bytes32(piece.facts)
            writer.number(piece.byteCount)
        }
        return Padding.padded(writer.finish())
    }

    /// Reads the plaintext of a body.
    ///
    /// - Throws: any `FormatError`.
    package init(padded: [UInt8]) throws(FormatError) {
        let content = try Padding.content(of: padded)
        let span = unsafe content.span.bytes
        var cursor = ByteCursor()
        clock = try cursor.number(UInt64.self, from: span)
        stateHash = try cursor.stateHash(from: span)
        let logCount = Int(try cursor.number(UInt16.self, from: span))
        guard (1...TrustLimits.logCountMax).contains(logCount) else {
            throw .invalid(field: "number of logs")
        }
        var logs: [LogSummary] = []
        for _ in 0..<logCount {
            let log = try LogSummary(&cursor, from: span)
            if let last = logs.last, last.log >= log.log { throw .invalid(field: "order of logs") }
            logs.append(log)
        }
        self.logs = logs
        let pieceCount = Int(try cursor.number(UInt32.self, from: span))
        guard pieceCount <= Self.pieceCountMax else { throw .invalid(field: "number of pieces") }
        var pieces: [Piece] = []
        for _ in 0..<pieceCount {
            let hash = try cursor.bytes32(PieceHash.self, from: span)
            let facts = try cursor.bytes32(PieceHash.self, from: span)
            let byteCount = try cursor.number(UInt32.self, from: span)
            guard byteCount <= CheckpointPiece.byteCountMax else {
                throw .invalid(field: "length of a piece")
            }
            pieces.append(Piece(hash: hash, facts: facts, byteCount: byteCount))
        }
        self.pieces = pieces
        try cursor.expectEnd(of: span)
    }
}
