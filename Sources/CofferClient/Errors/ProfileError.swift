internal import CofferSystem

/// A failure that concerns a profile: its file, its passphrase, or its lock.
package enum ProfileError: Error {
    case noProfile(path: String)
    /// `home` is the option with which the user has chosen the directory; nil for the default one.
    case profileExists(path: String, home: String? = nil)
    /// Other users may enter the directory that was chosen for a new profile, and it is not empty.
    case notPrivate(path: String)
    case damagedProfile(path: String)
    case newerProfile(path: String, found: UInt32, supported: UInt32)
    case wrongPassphrase(hint: String?)
    case tooManyAttempts(seconds: Int64)
    case emptyPassphrase
    /// The new passphrase and its repetition differ.
    case passphrasesDiffer
    /// The hint contains the passphrase.
    case hintTellsPassphrase
    /// The cost of an attempt at the passphrase is too low or too high.
    case strengthOutOfRange
    /// The name of a person or a machine is not safe to show to other members.
    case invalidName(String)
    /// The names in the profile are too short or too long to be shown to other members.
    case namesNotShareable
    /// A passphrase is needed, and there is no terminal to ask for it.
    case noTerminal
    case noMemory
    case locked(LockNote?)
    /// The directory is not where it was when the profile was mounted.
    case moved(path: String)
    /// The profile is on a read-only filesystem, and was to be mounted for writing.
    case readOnlyDisk(path: String)
    /// All slots for vaults are used.
    case noMoreVaults
}

extension ProfileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noProfile(let path): "There is no profile in \(path). Make one with: coffer init"
        case .profileExists(let path, let home):
            """
            There is already a profile in \(path). Choose another directory with --home, or use this profile \
            with: coffer mount \(home.map { "--home \(ShellWord.quoted($0)) " } ?? "")~/Coffer
            """
        case .notPrivate(let path):
            """
            \(path) is not empty, and other users can access it. Choose another folder, or make this one \
            private with “chmod 700 \(path)”.
            """
        case .damagedProfile(let path):
            "The profile file \(path) is damaged, or is not a profile. Restore it from a backup."
        case .newerProfile(let path, let found, let supported):
            """
            The profile file \(path) has format \(found), but this version of coffer reads only formats up \
            to \(supported). Update coffer.
            """
        case .wrongPassphrase(let hint):
            "The passphrase is wrong." + (hint.map { " Your hint: “\($0)”." } ?? "")
        case .moved(let path):
            """
            The profile was moved away from \(path) while it is mounted. Move it back, or unmount it and mount \
            it from its new place.
            """
        case .readOnlyDisk(let path):
            "\(path) is on a read-only file system. Mount the profile for reading: coffer mount -o ro"
        case .tooManyAttempts(let seconds):
            "Too many wrong passphrases. Try again in \(seconds) second\(seconds == 1 ? "" : "s")."
        case .emptyPassphrase: "The passphrase is empty. Enter at least one character."
        case .passphrasesDiffer: "The two passphrases differ. Nothing was changed; try again."
        case .hintTellsPassphrase:
            """
            The hint contains the passphrase, and anyone who has the profile file can read the hint. Choose \
            a hint that only you understand, or none.
            """
        case .strengthOutOfRange: "The strength of the passphrase is out of range."
        case .invalidName(let name):
            """
            “\(name)” cannot be the name of a person or a machine: use 1 to 255 bytes, not only blanks, and no \
            control characters, invisible characters, or characters that change the direction of text. Choose \
            another with --name or --device.
            """
        case .namesNotShareable: "Your name and this machine's name must have 1 to 255 bytes each."
        case .noTerminal:
            """
            There is no terminal to ask for the passphrase. Use --passphrase-file, COFFER_PASSPHRASE_FILE, \
            or the credential “coffer.passphrase” of a systemd unit.
            """
        case .noMemory:
            "There is not enough memory to check the passphrase. Close other programs, and try again."
        case .locked(let note):
            if let note {
                "The profile is in use by process \(note.process)\(note.place). Try again when it has ended."
            } else {
                "The profile is in use by another process. Try again when it has ended."
            }
        case .noMoreVaults:
            "This profile cannot have more vaults; deleted ones count, too. Create another profile."
        }
    }

    var exitCode: Int32 {
        switch self {
        case .noProfile, .moved: 66  // EX_NOINPUT
        case .profileExists, .notPrivate: 73  // EX_CANTCREAT
        case .damagedProfile, .newerProfile: 65  // EX_DATAERR
        case .wrongPassphrase, .emptyPassphrase: 77  // EX_NOPERM
        case .tooManyAttempts, .locked: 75  // EX_TEMPFAIL
        case .passphrasesDiffer, .hintTellsPassphrase, .invalidName, .noTerminal: 64  // EX_USAGE
        case .noMemory: 71  // EX_OSERR
        case .readOnlyDisk: 74  // EX_IOERR
        case .strengthOutOfRange, .namesNotShareable, .noMoreVaults: 76  // EX_PROTOCOL
        }
    }
}
