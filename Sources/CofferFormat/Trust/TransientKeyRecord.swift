internal import CofferSystem

/// A transient key of an identity, signed by its current identity key: 204 bytes.
///
///     offset  bytes  field
///          0      8  "COFFERTK"
///          8      4  format version, 1
///         12     32  identity id
///         44     16  id of the transient key, random
///         60     32  X25519 public key
///         92      8  valid from, nanoseconds since 1970
///        100      8  valid until, nanoseconds since 1970
///        108     32  the signer's Ed25519 public key
///        140     64  signature of bytes 0 to 139
package struct TransientKeyRecord: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The size of the record, in bytes.
    package static let byteCount = 204

    /// The record as it was received.
    package let bytes: [UInt8]
    /// The identity whose key it is.
    package let identity: IdentityID
    /// The id of the key, by which wraps refer to it.
    package let id: TransientKeyID
    /// The public key that others seal for the identity with.
    package let agreement: AgreementPublicKey
    /// When the key becomes valid, in nanoseconds since 1970.
    package let from: Int64
    /// When the key expires and a newer one must replace it, in nanoseconds since 1970; after `from`.
    package let until: Int64
    /// The identity key that signed.
    package let signer: SigningPublicKey
    /// The signature: 64 bytes.
    package let signature: [UInt8]

    /// The bytes that are signed.
    package var signedBytes: [UInt8] { Array(bytes.dropLast(64)) }

    /// Reads a record; does not check the signature.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        try cursor.header("COFFERTK", version: Self.version, from: span)
        identity = try cursor.bytes32(IdentityID.self, from: span)
        id = try cursor.identifier(TransientKeyID.self, from: span)
        agreement = try cursor.bytes32(AgreementPublicKey.self, from: span)
        from = try cursor.number(Int64.self, from: span)
        until = try cursor.number(Int64.self, from: span)
        signer = try cursor.bytes32(SigningPublicKey.self, from: span)
        signature = try cursor.bytes(64, from: span)
        try cursor.expectEnd(of: span)
        guard from >= 0, from < until else { throw .invalid(field: "validity") }
        self.bytes = bytes
    }

    /// The bytes to sign for a new record.
    package static func signed(
        identity: IdentityID, id: TransientKeyID, agreement: AgreementPublicKey, from: Int64, until: Int64,
        signer: SigningPublicKey
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: byteCount)
        writer.header("COFFERTK", version: version)
        writer.bytes32(identity)
        writer.identifier(id)
        writer.bytes32(agreement)
        writer.number(from)
        writer.number(until)
        writer.bytes32(signer)
        return writer.finish()
    }
}
