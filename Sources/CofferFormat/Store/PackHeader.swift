internal import CofferSystem

/// The first 32 bytes of a pack.
///
///     offset  bytes  field
///          0      8  "COFFERPK"
///          8      4  format version, 1
///         12     16  vault id
///         28      4  zero
package struct PackHeader: Equatable {
    /// The size of a header, in bytes.
    package static let byteCount = 32
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    private static let magic: StaticString = "COFFERPK"

    /// The vault whose extents are in the pack.
    package let vault: VaultID

    package init(vault: VaultID) {
        self.vault = vault
    }

    /// The 32 bytes as they are stored.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.header(Self.magic, version: Self.version)
        writer.identifier(vault)
        writer.number(UInt32(0))
        return writer.finish()
    }

    /// Reads a header.
    ///
    /// - Throws: `.notThisKind`, `.newerVersion`, `.truncated`, `.invalid`.
    package init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        try cursor.header(Self.magic, version: Self.version, from: bytes)
        vault = try cursor.identifier(VaultID.self, from: bytes)
        guard try cursor.number(UInt32.self, from: bytes) == 0 else { throw .invalid(field: "reserved") }
    }
}
