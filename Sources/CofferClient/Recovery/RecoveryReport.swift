internal import CofferCrypto
internal import CofferFormat
package import CofferTrust

/// The report of `coffer recovery list`; `--json` prints all of it.
package struct RecoveryReport: Codable, Sendable {
    /// The profile id: 32 hexadecimal digits.
    package let profile: String
    /// The person's name.
    package let name: String
    /// The recovery keys of the profile, and those that were revoked, oldest first.
    package let keys: [RecoveryKeyReport]
    /// When the last backup was made, in seconds since 1970; absent if none was made.
    package let backup: Int64?
    /// What the last backup does not bring back.
    package let gaps: [BackupGap]

    /// The id that a recovery key has in this profile: 32 hexadecimal digits.
    package func id(of key: RecoveryKey) -> String {
        ProfileID(hexadecimal: profile).map { key.id(in: $0).description } ?? ""
    }
}

/// A recovery key of a profile.
package struct RecoveryKeyReport: Codable, Sendable {
    /// The id: 32 hexadecimal digits.
    package let id: String
    /// When the key was created, in seconds since 1970.
    package let created: Int64
    /// When the key was revoked, in seconds since 1970; absent if it opens the profile.
    package let revoked: Int64?
    /// Whether the key opens the last backup; absent if there is none.
    package let opensBackup: Bool?
}

/// A vault that cannot be brought back with the last backup, or not wholly.
package struct BackupGap: Codable, Sendable {
    /// The name of the vault.
    package let vault: String
    /// The reason.
    package let reason: Reason

    /// Why a vault cannot be brought back.
    package enum Reason: String, Codable, Sendable {
        /// It has no remote.
        case noRemote
        /// The backup was made before the vault had a remote here.
        case notInBackup
        /// The key of the vault was changed after the backup was made.
        case newerKey
    }
}

/// The bytes of a profile backup.
package struct BackupAnswer: Codable, Sendable {
    /// The file, as Base64.
    private let text: String

    init(_ bytes: [UInt8]) {
        text = Base64.text(bytes, .standard)
    }

    /// The bytes of the file; nil if the message is malformed.
    package var bytes: [UInt8]? { Base64.bytes(text, .standard) }
}
