package import CofferFormat
internal import CofferTrust

/// The object that says that a remote has a vault: what all else there is to be read by.
///
///     offset  bytes  field
///          0      8  "COFFERRV"
///          8      4  format version, 1
///         12     16  vault id
package struct RemoteFormat: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// Bytes of the record.
    package static let byteCount = 28
    private static let magic = Array("COFFERRV".utf8)

    /// The vault.
    package let vault: VaultID

    package init(vault: VaultID) {
        self.vault = vault
    }

    /// The bytes.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.append(Self.magic)
        writer.number(Self.version)
        writer.identifier(vault)
        return writer.finish()
    }

    /// Reads the bytes.
    ///
    /// - Throws: any `FormatError`; `.newerVersion` before anything else that a newer version might do otherwise.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.starts(with: Self.magic) else { throw .notThisKind }
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        _ = try cursor.bytes(Self.magic.count, from: span)
        let version = try cursor.number(UInt32.self, from: span)
        guard version <= Self.version else { throw .newerVersion(found: version, supported: Self.version) }
        guard version == Self.version else { throw .invalid(field: "format version") }
        vault = try cursor.identifier(VaultID.self, from: span)
        try cursor.expectEnd(of: span)
    }
}
