internal import CofferSystem

/// The key of one epoch, wrapped for several members, and signed by the member who wrapped it.
///
///     offset  bytes  field
///          0      8  "COFFERWS"
///          8      4  format version, 1
///         12     16  vault id
///         28      4  epoch
///         32      4  number of wraps, 1 to 4096
///         36      …  the wraps, in ascending order of identity ids; each:
///                     32  identity id
///                      2  suite
///                      2  length, then that many bytes
///          …     32  the wrapper's Ed25519 public key
///          …     64  signature of all bytes before it
package struct WrapSetRecord: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest size of a set, in bytes.
    package static let byteCountMax = 8 << 20

    /// The key of an epoch for one member.
    package struct Wrap: Equatable, Sendable {
        /// The member that the wrap is for.
        package let identity: IdentityID
        /// How the key is sealed; this version knows suite 1.
        package let suite: UInt16
        /// The sealed key, as the suite defines it.
        package let sealed: [UInt8]

        package init(identity: IdentityID, suite: UInt16, sealed: [UInt8]) {
            self.identity = identity
            self.suite = suite
            self.sealed = sealed
        }
    }

    /// The set as it was received.
    package let bytes: [UInt8]
    /// The vault of the key.
    package let vault: VaultID
    /// The epoch of the key.
    package let epoch: Epoch
    /// The wraps in ascending order of identity ids, each identity once.
    package let wraps: [Wrap]
    /// The Ed25519 key that signed the set.
    package let signer: SigningPublicKey
    /// The signature: 64 bytes.
    package let signature: [UInt8]

    /// The bytes that are signed.
    package var signedBytes: [UInt8] { Array(bytes.dropLast(64)) }

    /// Reads a set; does not check the signature.
    ///
    /// Keeps wraps of unknown suites as they are: they affect only the members that they are for.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.count <= Self.byteCountMax else { throw .invalid(field: "length of the wrap set") }
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        try cursor.header("COFFERWS", version: Self.version, from: span)
        vault = try cursor.identifier(VaultID.self, from: span)
        epoch = Epoch(try cursor.number(UInt32.self, from: span))
        guard epoch >= .first else { throw .invalid(field: "epoch") }
        let count = try cursor.number(UInt32.self, from: span)
        guard (1...UInt32(TrustLimits.memberCountMax)).contains(count) else {
            throw .invalid(field: "number of wraps")
        }
        var wraps: [Wrap] = []
        for _ in 0..<count {
            let wrap = Wrap(
                identity: try cursor.bytes32(IdentityID.self, from: span),
                suite: try cursor.number(UInt16.self, from: span),
                sealed: try cursor.bytes(Int(try cursor.number(UInt16.self, from: span)), from: span))
            if let last = wraps.last, last.identity >= wrap.identity {
                throw .invalid(field: "order of wraps")
            }
            wraps.append(wrap)
        }
        self.wraps = wraps
        signer = try cursor.bytes32(SigningPublicKey.self, from: span)
        signature = try cursor.bytes(64, from: span)
        try cursor.expectEnd(of: span)
        self.bytes = bytes
    }

    /// The bytes to sign for a new set; sorts the wraps.
    package static func signed(
        vault: VaultID, epoch: Epoch, wraps: [Wrap], signer: SigningPublicKey
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.header("COFFERWS", version: version)
        writer.identifier(vault)
        writer.number(epoch.number)
        writer.number(UInt32(wraps.count))
        for wrap in wraps.sorted(by: { $0.identity < $1.identity }) {
            writer.bytes32(wrap.identity)
            writer.number(wrap.suite)
            writer.number(UInt16(wrap.sealed.count))
            writer.append(wrap.sealed)
        }
        writer.bytes32(signer)
        return writer.finish()
    }
}
