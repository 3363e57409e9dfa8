internal import CofferCrypto
internal import CofferFormat

/// The file `profile`: a `ProfileRecord`, and a checksum.
///
/// The checksum is no protection. It tells a damaged file from a wrong passphrase.
enum ProfileFile {
    /// The size of the checksum, in bytes.
    static let checksumByteCount = 32

    /// The whole file.
    static func bytes(of record: ProfileRecord) -> [UInt8] {
        let content = record.bytes
        return content + Blake2b.hash(content, for: .profile)
    }

    /// Reads a whole file.
    ///
    /// - Throws: any `FormatError`; `.newerVersion` comes before all others.
    static func record(from bytes: [UInt8]) throws(FormatError) -> ProfileRecord {
        let content = Array(bytes.dropLast(checksumByteCount))
        let record = try unsafe ProfileRecord(content.span.bytes)
        guard Array(bytes.suffix(checksumByteCount)) == Blake2b.hash(content, for: .profile) else {
            throw .invalid(field: "checksum")
        }
        return record
    }
}
