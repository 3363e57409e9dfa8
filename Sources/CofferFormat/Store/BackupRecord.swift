/// A profile backup: the unlock methods of a profile, and a sealed body (docs/format.md, "Profile backup").
///
///     offset  bytes  field
///          0      8  "COFFERBK"
///          8      4  format version, 1
///         12      8  bytes of the whole file
///         20     16  profile id
///         36      8  made, nanoseconds since 1970
///         44      …  the unlock methods of the profile
///          …      4  length of the sealed body, then the body
///          …     32  checksum of all bytes before it
package struct BackupRecord: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest size of a backup, in bytes.
    package static let byteCountMax = 16 << 20
    /// The size of the checksum, in bytes.
    package static let checksumByteCount = 32
    private static let magic: StaticString = "COFFERBK"
    private static let lengthEnd = 20

    /// The id of the profile.
    package let profile: ProfileID
    /// When the backup was made, in nanoseconds since 1970.
    package let made: Int64
    /// What opens the backup: the unlock methods that the profile had.
    package let methods: UnlockMethods
    /// Nonce, ciphertext, tag.
    package let sealedBody: [UInt8]

    package init(profile: ProfileID, made: Int64, methods: UnlockMethods, sealedBody: [UInt8]) {
        self.profile = profile
        self.made = made
        self.methods = methods
        self.sealedBody = sealedBody
    }

    /// The associated data of a body: all bytes before its length.
    ///
    /// - Parameter sealedByteCount: The length of the sealed body.
    package static func associatedData(
        profile: ProfileID, made: Int64, methods: UnlockMethods, sealedByteCount: Int
    ) -> [UInt8] {
        var rest = ByteWriter()
        rest.identifier(profile)
        rest.number(made)
        methods.write(into: &rest)
        let bytes = rest.finish()
        var writer = ByteWriter()
        writer.header(Self.magic, version: Self.version)
        writer.number(UInt64(lengthEnd + bytes.count + 4 + sealedByteCount + checksumByteCount))
        writer.append(bytes)
        return writer.finish()
    }

    /// The associated data of the body.
    package var associatedData: [UInt8] {
        Self.associatedData(
            profile: profile, made: made, methods: methods, sealedByteCount: sealedBody.count)
    }

    /// The whole file except the checksum, which is computed over these bytes.
    package var bytesToCheck: [UInt8] {
        var writer = ByteWriter()
        writer.append(associatedData)
        writer.number(UInt32(sealedBody.count))
        writer.append(sealedBody)
        return writer.finish()
    }

    /// How many bytes a backup should have, as its beginning says.
    ///
    /// - Throws: any `FormatError`; `.truncated` for less than 20 bytes.
    package static func statedByteCount(_ bytes: RawSpan) throws(FormatError) -> UInt64 {
        var cursor = ByteCursor()
        try cursor.header(magic, version: version, from: bytes)
        return try cursor.number(UInt64.self, from: bytes)
    }

    /// Whether bytes are the beginning of a backup, of any version, and end before all of it says how long it
    /// is.
    package static func isCutEarly(_ bytes: [UInt8]) -> Bool {
        let start = Array("\(magic)".utf8)
        return bytes.count < lengthEnd && bytes.prefix(8) == start.prefix(bytes.count)
    }

    /// Reads a file without its last 32 bytes, which are the checksum.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        try cursor.header(Self.magic, version: Self.version, from: bytes)
        let length = try cursor.number(UInt64.self, from: bytes)
        guard length == UInt64(bytes.byteCount + Self.checksumByteCount) else {
            throw .invalid(field: "length")
        }
        profile = try cursor.identifier(ProfileID.self, from: bytes)
        made = try cursor.number(Int64.self, from: bytes)
        methods = try UnlockMethods(&cursor, from: bytes)
        let count = Int(try cursor.number(UInt32.self, from: bytes))
        sealedBody = try cursor.bytes(count, from: bytes)
        try cursor.expectEnd(of: bytes)
    }
}
