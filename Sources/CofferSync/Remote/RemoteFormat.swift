package import CofferFormat
internal import CofferTrust

/// The object that marks a remote as having a vault, and tells how to read its other objects.
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
    private static let magic: StaticString = "COFFERRV"

    /// The vault's id.
    package let vault: VaultID

    package init(vault: VaultID) {
        self.vault = vault
    }

    /// The encoded record.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.header(Self.magic, version: Self.version)
        writer.identifier(vault)
        return writer.finish()
    }

    /// Decodes a record.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        try cursor.header(Self.magic, version: Self.version, from: span)
        vault = try cursor.identifier(VaultID.self, from: span)
        try cursor.expectEnd(of: span)
    }
}
