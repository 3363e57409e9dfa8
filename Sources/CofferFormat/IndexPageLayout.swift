/// How the pages of an index are sealed (docs/format.md, "Index").
///
/// A page of the database is `pageByteCount` bytes, of which SQLite leaves the last 40 to us: they take
/// the nonce and the tag. A frame of the write-ahead log is sealed together with its 24-byte header.
package enum IndexPageLayout {
    /// Bytes of a page, sealed or open.
    package static let pageByteCount = 4096
    /// Bytes at the end of each page that SQLite does not use.
    package static let reservedByteCount = 40
    /// Bytes of a page that carry rows.
    package static let usableByteCount = pageByteCount - reservedByteCount
    /// Bytes of the header of the write-ahead log, which is stored as SQLite wrote it.
    package static let logHeaderByteCount = 32
    /// Bytes of the header in front of each page of the log.
    package static let frameHeaderByteCount = 24
    /// Bytes of a frame of the log.
    package static let frameByteCount = frameHeaderByteCount + pageByteCount

    /// Which file a page stands in.
    package enum File: UInt8 {
        case database = 0
        case log = 1
    }

    /// The associated data of a page or frame: 26 bytes.
    ///
    ///     offset  bytes  field
    ///          0      1  format version, 1
    ///          1      1  0 in the database, 1 in the log
    ///          2     16  vault id
    ///         18      8  offset of the page or frame in its file
    package static func associatedData(_ file: File, vault: VaultID, offset: Int) -> [UInt8] {
        var writer = ByteWriter(capacity: 26)
        writer.number(UInt8(1))
        writer.number(file.rawValue)
        writer.identifier(vault)
        writer.number(UInt64(offset))
        return writer.finish()
    }
}
