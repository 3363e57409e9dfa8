internal import CofferSystem

/// A statement of a commit about the storage, rather than about items.
///
///     code  fields
///        1  a checkpoint of the commit's own log: sequence (8), hash (32)
///        2  a checkpoint of another log is right: log id (16), sequence (8), hash (32)
///        3  packs that this log's device wants to delete: number (2), ids (16 each), ascending
///        4  packs that this device still needs, as an answer to a commit with code 3: log id (16),
///           sequence (8); 0 and as for 3, or 1 for all packs of that commit
package enum CommitNotice: Hashable, Sendable {
    /// Announces a checkpoint; the commits that it covers are deleted once it counts and every active log has
    /// applied this commit.
    case checkpoint(sequence: UInt64, CheckpointHash)
    /// States that the author has the same facts as a checkpoint of another log.
    case confirmation(Dot, CheckpointHash)
    /// Asks who still needs some packs; replaces the earlier ones of this log, and ends with none.
    case retirement([PackID])
    /// Answers the retirement that a commit announces.
    case retention(Dot, RetainedPacks)

    /// The most packs of a notice.
    package static let packCountMax = 4096

    init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        let code = try cursor.number(UInt8.self, from: bytes)
        switch code {
        case 1:
            let sequence = try cursor.number(UInt64.self, from: bytes)
            self = .checkpoint(sequence: sequence, try cursor.bytes32(CheckpointHash.self, from: bytes))
        case 2:
            let dot = try Self.dot(&cursor, from: bytes)
            self = .confirmation(dot, try cursor.bytes32(CheckpointHash.self, from: bytes))
        case 3: self = .retirement(try Self.packs(&cursor, from: bytes))
        case 4:
            let dot = try Self.dot(&cursor, from: bytes)
            switch try cursor.number(UInt8.self, from: bytes) {
            case 0: self = .retention(dot, .some(try Self.packs(&cursor, from: bytes)))
            case 1: self = .retention(dot, .all)
            default: throw .invalid(field: "retained packs")
            }
        default: throw .unknown(field: "notice", found: UInt32(code))
        }
    }

    private static func dot(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) -> Dot {
        let log = try cursor.identifier(LogID.self, from: bytes)
        return Dot(log: log, sequence: try cursor.number(UInt64.self, from: bytes))
    }

    private static func packs(
        _ cursor: inout ByteCursor, from bytes: RawSpan
    ) throws(FormatError) -> [PackID] {
        let count = Int(try cursor.number(UInt16.self, from: bytes))
        guard count <= packCountMax else { throw .invalid(field: "number of packs") }
        var packs: [PackID] = []
        for _ in 0..<count {
            let pack = try cursor.identifier(PackID.self, from: bytes)
            if let last = packs.last, pack <= last { throw .invalid(field: "order of packs") }
            packs.append(pack)
        }
        return packs
    }

    func write(into writer: inout ByteWriter) {
        switch self {
        case .checkpoint(let sequence, let hash):
            writer.number(UInt8(1))
            writer.number(sequence)
            writer.bytes32(hash)
        case .confirmation(let dot, let hash):
            writer.number(UInt8(2))
            Self.write(dot, into: &writer)
            writer.bytes32(hash)
        case .retirement(let packs):
            writer.number(UInt8(3))
            Self.write(packs, into: &writer)
        case .retention(let dot, let retained):
            writer.number(UInt8(4))
            Self.write(dot, into: &writer)
            switch retained {
            case .some(let packs):
                writer.number(UInt8(0))
                Self.write(packs, into: &writer)
            case .all: writer.number(UInt8(1))
            }
        }
    }

    private static func write(_ dot: Dot, into writer: inout ByteWriter) {
        writer.identifier(dot.log)
        writer.number(dot.sequence)
    }

    private static func write(_ packs: [PackID], into writer: inout ByteWriter) {
        writer.number(UInt16(packs.count))
        for pack in packs { writer.identifier(pack) }
    }
}

/// The packs of a retirement that a device still needs.
package enum RetainedPacks: Hashable, Sendable {
    /// These, in ascending order; may be none.
    case some([PackID])
    /// All of them.
    case all
}
