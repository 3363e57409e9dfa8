/// The profile file without its checksum: the unlock methods, and a sealed body (docs/format.md, "Profile").
///
///     offset  bytes  field
///          0      8  "COFFERPF"
///          8      4  format version, 1
///         12     16  profile id
///         28      8  created, nanoseconds since 1970
///         36      2  number of unlock methods, 1 to 16
///         38      …  each method: kind (2), length (4), and that many bytes
///          …      4  length of the sealed body, then the body
package struct ProfileRecord: Equatable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt32 = 1
    /// The largest size of a profile file, in bytes.
    package static let byteCountMax = 16 << 20
    private static let magic: StaticString = "COFFERPF"

    /// The id of the profile.
    package let id: ProfileID
    /// When the profile was created, in nanoseconds since 1970.
    package let created: Int64
    /// The passphrases and recovery keys.
    package var methods: UnlockMethods
    /// Nonce, ciphertext, tag.
    package var sealedBody: [UInt8]

    package init(id: ProfileID, created: Int64, methods: UnlockMethods, sealedBody: [UInt8]) {
        self.id = id
        self.created = created
        self.methods = methods
        self.sealedBody = sealedBody
    }

    /// The associated data of the body: magic, version, profile id, and time of creation, 36 bytes.
    package var associatedData: [UInt8] {
        var writer = ByteWriter(capacity: 36)
        writer.header(Self.magic, version: Self.version)
        writer.identifier(id)
        writer.number(created)
        return writer.finish()
    }

    /// The file up to its checksum.
    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.append(associatedData)
        methods.write(into: &writer)
        writer.number(UInt32(sealedBody.count))
        writer.append(sealedBody)
        return writer.finish()
    }

    /// Reads a file up to its checksum.
    ///
    /// - Throws: any `FormatError`.
    package init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        try cursor.header(Self.magic, version: Self.version, from: bytes)
        id = try cursor.identifier(ProfileID.self, from: bytes)
        created = try cursor.number(Int64.self, from: bytes)
        methods = try UnlockMethods(&cursor, from: bytes)
        let bodyCount = Int(try cursor.number(UInt32.self, from: bytes))
        sealedBody = try cursor.bytes(bodyCount, from: bytes)
        try cursor.expectEnd(of: bytes)
    }
}

/// An unlock method: a passphrase, by Argon2id.
///
///     offset  bytes  field
///          0     16  salt
///         16      4  passes of Argon2id
///         20      4  memory of Argon2id in KiB
///         24      2  version of the verifier, 1
///         26      8  created, nanoseconds since 1970
///         34     72  sealed verifier (32 random bytes)
///        106     72  sealed profile key (32 bytes)
///        178      2  length of the sealed hint, then the hint; 0 for none
package struct PassphraseRecord: Equatable {
    /// The version of the verifier that is written, and the only one that is read.
    package static let verifierVersion: UInt16 = 1
    /// The size of a sealed record of 32 bytes, in bytes.
    package static let sealedKeyByteCount = 72

    /// The salt of Argon2id: 16 bytes.
    package let salt: [UInt8]
    /// The passes of Argon2id as stored; `PasswordHash` checks whether they are in range.
    package let passes: UInt32
    /// The memory of Argon2id in KiB as stored; `PasswordHash` checks whether it is in range.
    package let memory: UInt32
    /// When the method was created, in nanoseconds since 1970.
    package let created: Int64
    /// Random bytes, sealed so that they open only with the right passphrase: 72 bytes.
    package let sealedVerifier: [UInt8]
    /// The profile key, sealed under a key that is derived from the passphrase: 72 bytes.
    package let sealedProfileKey: [UInt8]
    /// The hint, hidden but not secret; empty if there is none.
    package let sealedHint: [UInt8]

    package init(
        salt: [UInt8], passes: UInt32, memory: UInt32, created: Int64, sealedVerifier: [UInt8],
        sealedProfileKey: [UInt8], sealedHint: [UInt8]
    ) {
        self.salt = salt
        self.passes = passes
        self.memory = memory
        self.created = created
        self.sealedVerifier = sealedVerifier
        self.sealedProfileKey = sealedProfileKey
        self.sealedHint = sealedHint
    }

    /// The associated data of the verifier, the profile key, and the hint: profile id and bytes 0 to 33.
    package static func associatedData(
        profile: ProfileID, salt: [UInt8], passes: UInt32, memory: UInt32, created: Int64
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.identifier(profile)
        writer.append(salt)
        writer.number(passes)
        writer.number(memory)
        writer.number(verifierVersion)
        writer.number(created)
        return writer.finish()
    }

    /// The record without its hint, which no associated data binds.
    package var withoutHint: PassphraseRecord {
        PassphraseRecord(
            salt: salt, passes: passes, memory: memory, created: created, sealedVerifier: sealedVerifier,
            sealedProfileKey: sealedProfileKey, sealedHint: [])
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.append(salt)
        writer.number(passes)
        writer.number(memory)
        writer.number(Self.verifierVersion)
        writer.number(created)
        writer.append(sealedVerifier)
        writer.append(sealedProfileKey)
        writer.number(UInt16(sealedHint.count))
        writer.append(sealedHint)
        return writer.finish()
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        salt = try cursor.bytes(16, from: bytes)
        passes = try cursor.number(UInt32.self, from: bytes)
        memory = try cursor.number(UInt32.self, from: bytes)
        let version = try cursor.number(UInt16.self, from: bytes)
        guard version == Self.verifierVersion else { throw .invalid(field: "version of the verifier") }
        created = try cursor.number(Int64.self, from: bytes)
        sealedVerifier = try cursor.bytes(Self.sealedKeyByteCount, from: bytes)
        sealedProfileKey = try cursor.bytes(Self.sealedKeyByteCount, from: bytes)
        sealedHint = try cursor.bytes(Int(try cursor.number(UInt16.self, from: bytes)), from: bytes)
        try cursor.expectEnd(of: bytes)
    }
}
