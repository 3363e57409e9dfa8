internal import CofferSystem

/// The first 48 bytes of a remote pack.
///
///     offset  bytes  field
///          0      8  "COFFERRP"
///          8      4  format version, 1
///         12     16  vault id
///         28     16  id of the remote pack
///         44      4  zero
package struct RemotePackHeader: Equatable {
    /// The size of a header, in bytes.
    package static let byteCount = 48
    /// The largest size of a remote pack in bytes, header included.
    package static let packByteCountMax = 16 << 20
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    private static let magic: StaticString = "COFFERRP"

    /// The vault whose content is in the pack.
    package let vault: VaultID
    /// The id of the remote pack.
    package let pack: PackID

    package init(vault: VaultID, pack: PackID) {
        self.vault = vault
        self.pack = pack
    }

    /// The 48 bytes as they are stored.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.header(Self.magic, version: Self.version)
        writer.identifier(vault)
        writer.identifier(pack)
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
        pack = try cursor.identifier(PackID.self, from: bytes)
        guard try cursor.number(UInt32.self, from: bytes) == 0 else { throw .invalid(field: "reserved") }
    }
}
