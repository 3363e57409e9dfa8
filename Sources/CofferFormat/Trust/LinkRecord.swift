internal import CofferSystem

/// The kind of a chain.
package enum ChainKind: UInt8, Sendable {
    /// The devices of a person.
    case device = 1
    /// The identity keys of a person.
    case identity = 2
    /// The members of a vault.
    case member = 3
}

/// A position in a chain: 40 bytes.
package struct LinkHead: Hashable, Sendable {
    /// The number of the link, from 0.
    package let sequence: UInt64
    /// The link's hash.
    package let hash: LinkHash

    package init(sequence: UInt64, hash: LinkHash) {
        self.sequence = sequence
        self.hash = hash
    }
}

/// The operations of a chain's links: one case for each.
package protocol ChainOperation: Equatable, Sendable {
    /// The chain that has these operations.
    static var kind: ChainKind { get }
    /// The operation's number in a link.
    var code: UInt16 { get }
    /// The operation's fields, as encoded in a link.
    var body: [UInt8] { get }
    /// Reads the fields of an operation.
    ///
    /// - Throws: `.unknown` if this version does not know the operation; otherwise any `FormatError`.
    init(code: UInt16, body: RawSpan) throws(FormatError)
}

/// A link of a trust chain, as it is stored.
///
///     offset  bytes  field
///          0      8  "COFFERLK"
///          8      4  format version, 1
///         12      1  chain kind
///         13     16  chain id
///         29      8  sequence
///         37     32  hash of the previous link; zeros in link 0
///         69      8  time, nanoseconds since 1970, by the signer's clock; no rule depends on it
///         77      2  operation
///         79      4  n, bytes of the operation's fields
///         83      n  the operation's fields
///       83+n     32  the signer's Ed25519 public key
///      115+n     32  link hash: of bytes 0 to 114+n
///      147+n     64  signature of the link hash
package struct LinkRecord: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest size of a link, in bytes.
    package static let byteCountMax = 256 << 10
    private static let headByteCount = 83
    private static let sealByteCount = 96
    private static let overhead = 83 + 32 + 96

    /// The link as it was received: these bytes are hashed, sent on, and stored, and never encoded again.
    package let bytes: [UInt8]
    /// The kind of the chain that the link claims to belong to.
    package let kind: ChainKind
    /// The id of that chain.
    package let chain: ChainID
    /// The number of the link, from 0.
    package let sequence: UInt64
    /// The hash of the link before it.
    package let previous: LinkHash
    /// When the link was made, in nanoseconds since 1970, by the signer's clock.
    package let time: Int64
    /// The number of the operation.
    package let code: UInt16
    /// The operation's fields.
    package let body: [UInt8]
    /// The Ed25519 key that signed the link.
    package let signer: SigningPublicKey
    /// The hash that the link states.
    package let hash: LinkHash
    /// The signature of the hash: 64 bytes.
    package let signature: [UInt8]

    /// The position of the link.
    package var head: LinkHead { LinkHead(sequence: sequence, hash: hash) }

    /// The bytes that the hash covers: all bytes before it.
    package var hashedBytes: [UInt8] { Array(bytes.dropLast(Self.sealByteCount)) }

    /// Reads a link; checks neither hash nor signature.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.count <= Self.byteCountMax else { throw .invalid(field: "length of the link") }
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        try cursor.header("COFFERLK", version: Self.version, from: span)
        guard let kind = ChainKind(rawValue: try cursor.number(UInt8.self, from: span)) else {
            throw .invalid(field: "chain kind")
        }
        self.kind = kind
        chain = try cursor.identifier(ChainID.self, from: span)
        sequence = try cursor.number(UInt64.self, from: span)
        previous = try cursor.bytes32(LinkHash.self, from: span)
        time = try cursor.number(Int64.self, from: span)
        code = try cursor.number(UInt16.self, from: span)
        body = try cursor.bytes(Int(try cursor.number(UInt32.self, from: span)), from: span)
        signer = try cursor.bytes32(SigningPublicKey.self, from: span)
        hash = try cursor.bytes32(LinkHash.self, from: span)
        signature = try cursor.bytes(64, from: span)
        try cursor.expectEnd(of: span)
        guard sequence > 0 || previous == .zero else { throw .invalid(field: "previous hash of link 0") }
        self.bytes = bytes
    }

    /// The bytes to hash for a new link.
    ///
    /// - Throws: `.invalid` if the link would be too long.
    package static func hashed(
        _ operation: some ChainOperation, chain: ChainID, sequence: UInt64, previous: LinkHash, time: Int64,
        signer: SigningPublicKey
    ) throws(FormatError) -> [UInt8] {
        let body = operation.body
        guard body.count <= byteCountMax - overhead else { throw .invalid(field: "length of the link") }
        var writer = ByteWriter(capacity: body.count + overhead)
        writer.header("COFFERLK", version: version)
        writer.number(type(of: operation).kind.rawValue)
        writer.identifier(chain)
        writer.number(sequence)
        writer.bytes32(previous)
        writer.number(time)
        writer.number(operation.code)
        writer.number(UInt32(body.count))
        writer.append(body)
        writer.bytes32(signer)
        return writer.finish()
    }
}
