/// What opens a profile, and what opens it no longer: a list in the profile file and in a backup of it.
///
///     bytes  field
///         2  number of entries, 1 to 16
///         …  each entry: kind (2), length (4), and that many bytes; in ascending order of the kinds
///
/// Kind 1 is a passphrase, kind 2 a recovery key, kind 3 a revoked recovery key.
package struct UnlockMethods: Equatable, Sendable {
    /// The largest number of entries.
    package static let countMax = 16
    private static let passphraseKind: UInt16 = 1, recoveryKind: UInt16 = 2, revokedKind: UInt16 = 3

    /// The passphrases, which are tried in turn.
    package var passphrases: [PassphraseRecord]
    /// The recovery keys that open the profile.
    package var recoveryKeys: [RecoveryRecord]
    /// Recovery keys that open the profile no longer.
    package var revokedKeys: [RevokedKeyRecord]

    package init(
        passphrases: [PassphraseRecord], recoveryKeys: [RecoveryRecord] = [],
        revokedKeys: [RevokedKeyRecord] = []
    ) {
        self.passphrases = passphrases
        self.recoveryKeys = recoveryKeys
        self.revokedKeys = revokedKeys
    }

    /// The number of entries.
    package var count: Int { passphrases.count + recoveryKeys.count + revokedKeys.count }

    func write(into writer: inout ByteWriter) {
        writer.number(UInt16(count))
        for method in passphrases { Self.write(Self.passphraseKind, method.bytes, into: &writer) }
        for method in recoveryKeys { Self.write(Self.recoveryKind, method.bytes, into: &writer) }
        for key in revokedKeys { Self.write(Self.revokedKind, key.bytes, into: &writer) }
    }

    private static func write(_ kind: UInt16, _ bytes: [UInt8], into writer: inout ByteWriter) {
        writer.number(kind)
        writer.number(UInt32(bytes.count))
        writer.append(bytes)
    }

    init(_ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        self.init(passphrases: [])
        let count = try cursor.number(UInt16.self, from: bytes)
        guard (1...UInt16(Self.countMax)).contains(count) else {
            throw .invalid(field: "number of unlock methods")
        }
        var last: UInt16 = 0
        for _ in 0..<count {
            let kind = try cursor.number(UInt16.self, from: bytes)
            let length = Int(try cursor.number(UInt32.self, from: bytes))
            let entry = bytes.extracting(try cursor.range(length, of: bytes))
            guard kind >= last else { throw .invalid(field: "order of unlock methods") }
            last = kind
            switch kind {
            case Self.passphraseKind: passphrases.append(try PassphraseRecord(entry))
            case Self.recoveryKind: recoveryKeys.append(try RecoveryRecord(entry))
            case Self.revokedKind: revokedKeys.append(try RevokedKeyRecord(entry))
            default: throw .invalid(field: "kind of unlock method")
            }
        }
    }
}

/// An unlock method: a recovery key.
///
///     offset  bytes  field
///          0     16  id of the recovery key
///         16      2  version, 1
///         18      8  created, nanoseconds since 1970
///         26     72  sealed profile key (32 bytes)
package struct RecoveryRecord: Equatable, Sendable {
    /// The version that is written, and the only one that is read.
    package static let version: UInt16 = 1

    /// The id of the recovery key.
    package let key: RecoveryKeyID
    /// When the recovery key was created, in nanoseconds since 1970.
    package let created: Int64
    /// The profile key, sealed under a key that is derived from the recovery key: 72 bytes.
    package let sealedProfileKey: [UInt8]

    package init(key: RecoveryKeyID, created: Int64, sealedProfileKey: [UInt8]) {
        self.key = key
        self.created = created
        self.sealedProfileKey = sealedProfileKey
    }

    /// The associated data of the profile key: profile id and bytes 0 to 25.
    package static func associatedData(
        profile: ProfileID, key: RecoveryKeyID, created: Int64
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.identifier(profile)
        writer.identifier(key)
        writer.number(version)
        writer.number(created)
        return writer.finish()
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.identifier(key)
        writer.number(Self.version)
        writer.number(created)
        writer.append(sealedProfileKey)
        return writer.finish()
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        key = try cursor.identifier(RecoveryKeyID.self, from: bytes)
        guard try cursor.number(UInt16.self, from: bytes) == Self.version else {
            throw .invalid(field: "version of the recovery key")
        }
        created = try cursor.number(Int64.self, from: bytes)
        sealedProfileKey = try cursor.bytes(PassphraseRecord.sealedKeyByteCount, from: bytes)
        try cursor.expectEnd(of: bytes)
    }
}

/// A recovery key that opens the profile no longer; it unlocks nothing, and explains why.
///
///     offset  bytes  field
///          0     16  id of the recovery key
///         16      8  created, nanoseconds since 1970
///         24      8  revoked, nanoseconds since 1970
package struct RevokedKeyRecord: Equatable, Sendable {
    /// The id of the recovery key.
    package let key: RecoveryKeyID
    /// When the recovery key was created, in nanoseconds since 1970.
    package let created: Int64
    /// When the recovery key was revoked, in nanoseconds since 1970.
    package let revoked: Int64

    package init(key: RecoveryKeyID, created: Int64, revoked: Int64) {
        self.key = key
        self.created = created
        self.revoked = revoked
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.identifier(key)
        writer.number(created)
        writer.number(revoked)
        return writer.finish()
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        key = try cursor.identifier(RecoveryKeyID.self, from: bytes)
        created = try cursor.number(Int64.self, from: bytes)
        revoked = try cursor.number(Int64.self, from: bytes)
        try cursor.expectEnd(of: bytes)
    }
}
