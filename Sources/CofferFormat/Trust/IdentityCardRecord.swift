internal import CofferSystem

/// A person's public data for other people: identity chain, transient key, and name.
///
///     offset  bytes  field
///          0      8  "COFFERIC"
///          8      4  format version, 1
///         12      …  name (text)
///          …      2  number of links of the identity chain, 1 to 1024
///          …      …  the links, each preceded by its length (4)
///          …    204  transient key
///          …     64  signature of all bytes before it, by the current identity key
package struct IdentityCardRecord: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest size of a card, in bytes.
    package static let byteCountMax = 512 << 10
    /// The largest number of links of an identity chain in a card.
    package static let linkCountMax = 1024

    /// The card as it was received.
    package let bytes: [UInt8]
    /// The name that the person uses: 1 to 255 bytes.
    package let name: String
    /// The whole identity chain, from link 0.
    package let links: [[UInt8]]
    /// The record of the transient key.
    package let transientKey: [UInt8]
    /// The signature by the current identity key: 64 bytes.
    package let signature: [UInt8]

    /// The bytes that are signed.
    package var signedBytes: [UInt8] { Array(bytes.dropLast(64)) }

    /// Reads a card; does not check the signature.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.count <= Self.byteCountMax else { throw .invalid(field: "length of the card") }
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        try cursor.header("COFFERIC", version: Self.version, from: span)
        name = try cursor.name("name", max: TrustLimits.nameByteCountMax, from: span)
        let count = Int(try cursor.number(UInt16.self, from: span))
        guard (1...Self.linkCountMax).contains(count) else { throw .invalid(field: "number of links") }
        var links: [[UInt8]] = []
        for _ in 0..<count {
            links.append(try cursor.bytes(Int(try cursor.number(UInt32.self, from: span)), from: span))
        }
        self.links = links
        transientKey = try cursor.bytes(TransientKeyRecord.byteCount, from: span)
        signature = try cursor.bytes(64, from: span)
        try cursor.expectEnd(of: span)
        self.bytes = bytes
    }

    /// The bytes to sign for a new card.
    ///
    /// - Throws: `.invalid` if the name is not permitted, or there are too many links.
    package static func signed(
        name: String, links: [[UInt8]], transientKey: [UInt8]
    ) throws(FormatError) -> [UInt8] {
        guard TrustLimits.isName(name) else { throw .invalid(field: "name") }
        guard (1...linkCountMax).contains(links.count) else { throw .invalid(field: "number of links") }
        var writer = ByteWriter()
        writer.header("COFFERIC", version: version)
        writer.text(name)
        writer.number(UInt16(links.count))
        for link in links {
            writer.number(UInt32(link.count))
            writer.append(link)
        }
        writer.append(transientKey)
        return writer.finish()
    }
}
