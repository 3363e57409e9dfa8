internal import CofferSystem

/// The key of one epoch, wrapped for several members, and signed by who wrapped it.
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
///                      2  length, then as many bytes
///          …     32  the wrapper's Ed25519 public key
///          …     64  signature of all bytes in front of it
package struct WrapSetRecord: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The most bytes that a set may have.
    package static let byteCountMax = 8 << 20

    /// The key of an epoch for one member.
    package struct Wrap: Equatable, Sendable {
        /// For whom it is.
        package let identity: IdentityID
        /// How it is sealed; this version knows 1.
        package let suite: UInt16
        /// What the suite makes of the key.
        package let sealed: [UInt8]

        package init(identity: IdentityID, suite: UInt16, sealed: [UInt8]) {
            self.identity = identity
            self.suite = suite
            self.sealed = sealed
        }
    }

    /// The set as it was received.
    package let bytes: [UInt8]
    /// The vault whose key it is.
    package let vault: VaultID
    /// The epoch whose key it is.
    package let epoch: Epoch
    /// In ascending order of identities, each once.
    package let wraps: [Wrap]
    /// Who wrapped.
    package let signer: SigningPublicKey
    /// 64 bytes.
    package let signature: [UInt8]

    /// The bytes that are signed.
    package var signedBytes: [UInt8] { Array(bytes.dropLast(64)) }

    /// Reads a set; does not check the signature.
    ///
    /// Wraps of unknown suites are kept as they are: they hurt nobody but those they are for.
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

    /// The bytes that are signed when a set is made, with the wraps brought into order.
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
