internal import CofferSystem

/// Tells hashes of pieces of checkpoints from others.
package enum PieceHashKind {}
/// The hash of a piece of a checkpoint: of its bytes as stored, or of its facts.
package typealias PieceHash = Bytes32<PieceHashKind>

/// What a checkpoint is of, and where its facts are; the body of a `SignedRecord`.
///
///     bytes  field
///         8  the highest hybrid logical clock of all commits that it covers
///        32  hash of what is shown
///         2  number of logs, 1 to 4096, then each (`LogSummary`), in ascending order of log ids
///         4  number of pieces, then of each:
///               32  hash of the piece as stored
///               32  hash of the facts in it, which is the same for everybody who has these
///                4  bytes of the piece as stored
package struct CheckpointBody: Equatable, Sendable {
    /// The most pieces of a checkpoint.
    package static let pieceCountMax = 1 << 16

    /// A piece of a checkpoint.
    package struct Piece: Hashable, Sendable {
        /// Of the piece as stored.
        package let hash: PieceHash
        /// Of the facts in it.
        package let facts: PieceHash
        /// Of the piece as stored.
        package let byteCount: UInt32

        package init(hash: PieceHash, facts: PieceHash, byteCount: UInt32) {
            self.hash = hash
            self.facts = facts
            self.byteCount = byteCount
        }
    }

    /// The highest clock of all commits that it covers.
    package let clock: UInt64
    /// What is shown.
    package let stateHash: StateHashBytes
    /// The last commit of every log that it covers.
    package let logs: [LogSummary]
    /// Where the facts are.
    package let pieces: [Piece]

    /// Brings the logs into order.
    package init(clock: UInt64, stateHash: StateHashBytes, logs: [LogSummary], pieces: [Piece]) {
        self.clock = clock
        self.stateHash = stateHash
        self.logs = logs.sorted { $0.log < $1.log }
        self.pieces = pieces
    }

    /// Which commits it covers.
    package var versions: VersionVector {
        var versions = VersionVector()
        for log in logs { versions[log.log] = log.head.sequence }
        return versions
    }

    /// The bytes that are sealed: padded.
    package var paddedBytes: [UInt8] {
        var writer = ByteWriter(capacity: 256 + 68 * pieces.count)
        writer.number(clock)
        writer.bytes32(stateHash)
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

    /// Reads what was sealed.
    ///
    /// - Throws: any `FormatError`.
    package init(padded: [UInt8]) throws(FormatError) {
        let content = try Padding.content(of: padded)
        let span = unsafe content.span.bytes
        var cursor = ByteCursor()
        clock = try cursor.number(UInt64.self, from: span)
        stateHash = try cursor.bytes32(StateHashBytes.self, from: span)
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
