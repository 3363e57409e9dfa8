internal import CofferSystem

/// A commit or a checkpoint as it is stored: a sealed body, signed in its sealed form.
///
///     offset  bytes  field
///          0      8  "COFFERCM" for a commit, "COFFERCP" for a checkpoint
///          8      4  format version, 1
///         12     16  vault id
///         28     16  log id
///         44      8  sequence, from 1 to 2^62
///         52      4  epoch
///         56      4  n, bytes of the sealed body
///         60      n  the body, a sealed record; padded before it is sealed
///       60+n    177  the seal (`RecordSeal`), a sealed record
///
/// The author is named in the seal, so only members can tell who it is.
package struct SignedRecord: Equatable, Sendable {
    /// What kind of record it is.
    package enum Kind: Sendable {
        case commit, checkpoint

        var magic: StaticString { self == .commit ? "COFFERCM" : "COFFERCP" }
    }

    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest size of a record: 16 MiB.
    package static let byteCountMax = 16 << 20
    /// The size of the header before the body, in bytes.
    package static let headerByteCount = 60
    /// How many bytes a sealed record is longer than its plaintext.
    private static let sealOverhead = 40
    private static let sealByteCount = RecordSeal.byteCount + sealOverhead

    /// The record as it was received.
    package let bytes: [UInt8]
    /// The vault that the record claims to belong to.
    package let vault: VaultID
    /// The log that the record claims to be in, and its sequence there.
    package let dot: Dot
    /// The epoch under whose key the record is sealed.
    package let epoch: Epoch

    /// The bytes before the body.
    package var header: [UInt8] { Array(bytes.prefix(Self.headerByteCount)) }
    /// The sealed body.
    package var body: [UInt8] { Array(bytes[Self.headerByteCount...].dropLast(Self.sealByteCount)) }
    /// The seal, sealed.
    package var seal: [UInt8] { Array(bytes.suffix(Self.sealByteCount)) }
    /// The bytes that the signature covers, followed by the seal's own fields.
    package var signedBytes: [UInt8] { Array(bytes.dropLast(Self.sealByteCount)) }

    /// Reads a record; opens nothing.
    ///
    /// - Throws: Any `FormatError`; `.newerVersion` before it checks anything that a newer version might
    ///   define differently.
    package init(_ bytes: [UInt8], as kind: Kind) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        try cursor.header(kind.magic, version: Self.version, from: span)
        guard bytes.count <= Self.byteCountMax else { throw .invalid(field: "length") }
        vault = try cursor.identifier(VaultID.self, from: span)
        let log = try cursor.identifier(LogID.self, from: span)
        dot = Dot(log: log, sequence: try cursor.number(UInt64.self, from: span))
        guard 1...Dot.sequenceMax ~= dot.sequence else { throw .invalid(field: "sequence") }
        epoch = Epoch(try cursor.number(UInt32.self, from: span))
        guard epoch >= .first else { throw .invalid(field: "epoch") }
        let bodyByteCount = Int(try cursor.number(UInt32.self, from: span))
        guard bodyByteCount >= Self.sealOverhead + Padding.byteCountMin else {
            throw .invalid(field: "length of the body")
        }
        _ = try cursor.range(bodyByteCount, of: span)
        _ = try cursor.range(Self.sealByteCount, of: span)
        try cursor.expectEnd(of: span)
        self.bytes = bytes
    }

    /// The header of a record whose sealed body has `bodyByteCount` bytes.
    package static func header(
        _ kind: Kind, _ vault: VaultID, _ dot: Dot, _ epoch: Epoch, bodyByteCount: Int
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: headerByteCount)
        writer.header(kind.magic, version: version)
        writer.identifier(vault)
        writer.identifier(dot.log)
        writer.number(dot.sequence)
        writer.number(epoch.number)
        writer.number(UInt32(bodyByteCount))
        return writer.finish()
    }
}

/// The author of a record, and the author's right to make it.
///
///     offset  bytes  field
///          0     32  identity of the author
///         32      8  sequence of the head of the member chain, as the author knew it
///         40     32  hash of that link
///         72      1  1 if the record changes anything, 0 if it only acknowledges
///         73     64  signature of all bytes before the seal, and of bytes 0 to 72, by the author
package struct RecordSeal: Equatable, Sendable {
    /// The size of a seal, in bytes.
    package static let byteCount = 137

    /// The claimed author.
    package let author: IdentityID
    /// The head of the member chain that the author knew.
    package let members: LinkHead
    /// Whether the record changes anything.
    package let writes: Bool
    /// The signature by the author: 64 bytes.
    package let signature: [UInt8]

    package init(author: IdentityID, members: LinkHead, writes: Bool, signature: [UInt8]) {
        self.author = author
        self.members = members
        self.writes = writes
        self.signature = signature
    }

    /// Reads a seal; does not check the signature.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        author = try cursor.bytes32(IdentityID.self, from: span)
        members = try LinkHead(&cursor, from: span)
        let flag = try cursor.number(UInt8.self, from: span)
        guard flag <= 1 else { throw .invalid(field: "right") }
        writes = flag == 1
        signature = try cursor.bytes(64, from: span)
        try cursor.expectEnd(of: span)
    }

    /// The bytes before the signature.
    package var signedBytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.bytes32(author)
        members.write(into: &writer)
        writer.number(UInt8(writes ? 1 : 0))
        return writer.finish()
    }

    /// All 137 bytes.
    package var bytes: [UInt8] { signedBytes + signature }
}

extension LinkHead {
    /// Reads a head: 40 bytes.
    init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        let sequence = try cursor.number(UInt64.self, from: bytes)
        self.init(sequence: sequence, hash: try cursor.bytes32(LinkHash.self, from: bytes))
    }

    /// Writes a head: 40 bytes.
    func write(into writer: inout ByteWriter) {
        writer.number(sequence)
        writer.bytes32(hash)
    }
}
