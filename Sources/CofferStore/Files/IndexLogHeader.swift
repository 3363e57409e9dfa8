internal import CofferFormat

/// The header of SQLite's log, the only unsealed part of an index.
///
/// Anyone who can write the file can forge it, including its checksum. See https://sqlite.org/walformat.html,
/// "The WAL header".
enum IndexLogHeader {
    /// The last bit is the byte order of the checksums.
    private static let magic: UInt32 = 0x377f_0682
    private static let pageSizeOffset = 8
    /// The number of bytes that the checksum covers.
    private static let checkedByteCount = 24

    /// Checks a whole header before SQLite trusts it; zeros are a log that a power cut left unwritten.
    ///
    /// - Throws: `.damaged`. Without this check, SQLite would take a wrong checksum for the end of the log,
    ///   and accept another page size.
    static func check(_ header: [UInt8]) throws(FileSystemError) {
        if header.allSatisfy({ $0 == 0 }) { return }
        let magic = word(header, at: 0)
        let sums = checksum(header, isBigEndian: magic & 1 == 1)
        guard header.count == IndexPageLayout.logHeaderByteCount, magic & ~1 == Self.magic,
            word(header, at: pageSizeOffset) == UInt32(IndexPageLayout.pageByteCount),
            sums == (word(header, at: checkedByteCount), word(header, at: checkedByteCount + 4))
        else { throw .damaged(place: "the header of the index's log") }
    }

    private static func word(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        guard offset + 4 <= bytes.count else { return 0 }
        return bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func checksum(_ header: [UInt8], isBigEndian: Bool) -> (UInt32, UInt32) {
        var sums: (UInt32, UInt32) = (0, 0)
        for offset in stride(from: 0, to: checkedByteCount, by: 8) {
            let first = word(header, at: offset)
            let second = word(header, at: offset + 4)
            sums.0 &+= (isBigEndian ? first : first.byteSwapped) &+ sums.1
            sums.1 &+= (isBigEndian ? second : second.byteSwapped) &+ sums.0
        }
        return sums
    }
}
