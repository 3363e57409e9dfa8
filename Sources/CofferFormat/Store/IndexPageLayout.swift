/// How the pages of an index are sealed (docs/format.md, "Index").
///
/// SQLite leaves the last 40 bytes of each page of `pageByteCount` bytes unused; they take the nonce and the
/// tag. A frame of the write-ahead log is sealed together with its 24-byte header.
package enum IndexPageLayout {
    /// The size of a page in bytes, sealed or open.
    package static let pageByteCount = 4096
    /// How many bytes at the end of each page SQLite does not use.
    package static let reservedByteCount = 40
    /// How many bytes of each page SQLite uses.
    package static let usableByteCount = pageByteCount - reservedByteCount
    /// The size of the header of the write-ahead log, which is stored as SQLite wrote it, in bytes.
    package static let logHeaderByteCount = 32
    /// The size of the header before each page of the write-ahead log, in bytes.
    package static let frameHeaderByteCount = 24
    /// The size of a frame of the write-ahead log, in bytes.
    package static let frameByteCount = frameHeaderByteCount + pageByteCount

    /// The file that contains a page.
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
