internal import CofferSystem
package import CofferTrust
internal import FoundationEssentials

/// A failure that concerns a recovery key, or a profile backup.
package enum RecoveryError: Error {
    /// The words have a mistake.
    case words(RecoveryKeyError)
    /// The words are a recovery key, but none that opens the profile, or the backup.
    ///
    /// `profile` is the id of the profile; `made` is when the backup was made, in nanoseconds since 1970, and
    /// nil for a profile.
    case otherProfile(profile: String, made: Int64?)
    /// The recovery key does not open the profile, or the backup, any more; times in nanoseconds since 1970.
    case revokedKey(created: Int64, revoked: Int64)
    /// No recovery key opens the profile, or the backup.
    case noRecoveryKey
    /// The backup does not open with the passphrase.
    case wrongPassphrase
    /// The file ends too early; the size of the whole is known only if its beginning is there.
    case cutBackup(path: String, count: Int, whole: Int?)
    case damagedBackup(path: String)
    case newerBackup(path: String, found: UInt32, supported: UInt32)
    /// The file is no profile backup.
    case noBackup(path: String)
    /// The file is a profile, not a backup of one.
    case isProfile(path: String)
    /// There is another file where a sheet or a backup would be written.
    case fileExists(path: String)
    /// A backup or a sheet would be in one of the vaults that it is to bring back.
    case inVault(path: String)
    /// No recovery key of this profile begins with the id, or several do, or it is too short; nil if there is
    /// none at all.
    case noSuchKey(id: String?)
    /// The profile has as many recovery keys as it can have.
    case tooManyKeys
    /// The words are needed, and there is no terminal to ask for them.
    case noTerminal
}

extension RecoveryError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .words(let error): "\(error)"
        case .otherProfile(let profile, nil):
            """
            The words are a recovery key, but of another profile. This one is \(profile): compare that with your \
            sheet.
            """
        case .otherProfile(let profile, let made?):
            """
            The words are a recovery key, but of another profile, or one that is newer than this backup. The \
            backup is of the profile \(profile), made on \(Self.day(made)): compare both with your sheet.
            """
        case .revokedKey(let created, let revoked):
            """
            This recovery key, made on \(Self.day(created)), was revoked on \(Self.day(revoked)), and opens \
            nothing that was written since. Use a newer sheet.
            """
        case .noRecoveryKey:
            """
            No recovery key opens this: none had been made, or all had been revoked. Use the passphrase, or \
            another backup.
            """
        case .wrongPassphrase:
            """
            The passphrase is wrong. The backup opens with the passphrase that the profile had when the backup \
            was made.
            """
        case .cutBackup(let path, let count, let whole?):
            """
            The backup \(path) is cut: it has \(count) of \(whole) bytes. Get the whole file, or use another copy.
            """
        case .cutBackup(let path, let count, nil):
            "The backup \(path) is cut: it has only \(count) bytes. Get the whole file, or use another copy."
        case .damagedBackup(let path): "The backup \(path) is damaged. Use another copy."
        case .newerBackup(let path, let found, let supported):
            """
            The backup \(path) has format \(found), but this version of coffer reads only formats up to \
            \(supported). Update coffer.
            """
        case .noBackup(let path): "\(path) is no profile backup. Make one with: coffer recovery backup"
        case .isProfile(let path):
            """
            \(path) is a profile, not a backup of one. Put the whole directory that it is from in its place, and \
            use it; for a forgotten passphrase, see: coffer recovery passphrase --help
            """
        case .fileExists(let path): "\(path) exists already. Choose another name, or move the file away."
        case .inVault(let path):
            "\(path) is in a vault, which cannot be opened without it. Choose a place outside of the mount."
        case .noSuchKey(nil): "The profile has no recovery key. Make one with: coffer recovery create"
        case .noSuchKey(let id?):
            """
            “\(id)” is not the beginning of one recovery key, at least four digits of it. List them with: coffer \
            recovery list
            """
        case .tooManyKeys:
            "The profile has too many recovery keys. Revoke one that you do not need: coffer recovery revoke"
        case .noTerminal:
            "There is no terminal to ask for the words of the recovery key. Use --recovery-key-file."
        }
    }

    var exitCode: Int32 {
        switch self {
        case .words, .otherProfile, .revokedKey, .noRecoveryKey, .wrongPassphrase: 77  // EX_NOPERM
        case .cutBackup, .damagedBackup, .newerBackup, .noBackup, .isProfile: 65  // EX_DATAERR
        case .fileExists, .inVault, .tooManyKeys: 73  // EX_CANTCREAT
        case .noSuchKey: 66  // EX_NOINPUT
        case .noTerminal: 64  // EX_USAGE
        }
    }

    private static func day(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time / 1_000_000_000))
            .formatted(.iso8601.year().month().day())
    }
}
