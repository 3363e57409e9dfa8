package import CofferFormat
package import CofferVault

/// A failure that concerns the export of a vault, or an import.
package enum ExportError: Error {
    /// An item cannot be read, so nothing is exported.
    case unreadable(path: String, vault: String, FileSystemError)
    /// An item does not fit into an archive.
    case tooLarge(path: String, vault: String, field: String)
    /// There is a file already where the export would be written.
    case fileExists(path: String)
    /// The export would be written to something that is no file.
    case notFile(path: String)
    /// The export would be in one of the mounted vaults.
    case inVault(path: String)
    /// An export is no text.
    case terminal
    /// Nobody reads from, or writes to, the other end.
    case interrupted
    /// There are too many recipients, or none.
    case recipientCount(Int, max: Int)
    /// The stream is no export.
    case noExport
    case newerExport(found: UInt32, supported: UInt32)
    /// The header of the export is damaged.
    case damagedHeader
    /// The passphrase is wrong.
    case wrongPassphrase
    /// The export needs a passphrase, and none was given.
    case passphraseNeeded
    /// A passphrase was given, and recipients open the export.
    case recipientNeeded
    /// The export is for others.
    case notRecipient
    /// The stream ends before the export does; with the number of bytes that there were.
    case cut(bytes: Int64)
    /// The bytes from this place on are wrong.
    case damaged(offset: Int64)
    /// There are bytes after the end.
    case trailing(offset: Int64)
    /// What was sealed is not an archive of a vault; with the place in it.
    case badArchive(FormatError, offset: Int64)
    /// An entry of the archive cannot be an item of a vault.
    case badEntry(path: String, ImportProblem)
    /// The vault is whole, and in the profile, but cannot be opened.
    case notOpened(vault: String, reason: String)
}

extension ExportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let path, let vault, let error):
            "“\(path)” in “\(vault)” cannot be read: \(error.summary). Nothing was exported."
        case .tooLarge(let path, let vault, let field):
            "“\(path)” in “\(vault)” cannot be exported: its \(field) is too long. Nothing was exported."
        case .fileExists(let path):
            "\(path) exists already. Choose another name, or replace it with --force."
        case .notFile(let path):
            "\(path) is no file. To write to something else, use: coffer vault export … - > …"
        case .inVault(let path): "\(path) is in a mounted vault. Choose a place outside of the mount."
        case .terminal: "An export is no text for a terminal. Name a file, or send it to another program."
        case .interrupted:
            "The command was interrupted. No vault was made, and what was written of an export is not whole."
        case .recipientCount(0, _): "Nobody could open the export. Give a passphrase, or a card with --to."
        case .recipientCount(let count, let max):
            "An export has at most \(max) recipients, and \(count) were given. Make several exports."
        case .noExport: "This is no export of a vault. Make one with: coffer vault export"
        case .newerExport(let found, let supported):
            """
            The export has format \(found), but this version of coffer reads only formats up to \(supported). Update \
            coffer.
            """
        case .damagedHeader: "The beginning of the export is damaged. Use another copy."
        case .wrongPassphrase:
            """
            The passphrase is wrong, or the beginning of the export is damaged. The passphrase is the one that was chosen \
            when the export was made.
            """
        case .passphraseNeeded: "A passphrase opens this export. Give it with --export-passphrase-file."
        case .recipientNeeded:
            "This export was made for identities, and no passphrase opens it. Leave the option out."
        case .notRecipient:
            """
            The export is not for your identity. Its recipients were chosen when it was made, by the cards that they had \
            then.
            """
        case .cut(let bytes):
            "The export is cut: it ends after \(bytes) bytes, too early. Get the whole file, or use another copy."
        case .damaged(let offset): "The export is damaged from byte \(offset) on. Use another copy."
        case .trailing(let offset):
            "There are more bytes after the end of the export, from byte \(offset) on. Use another copy."
        case .badArchive(.truncated, let offset):
            "What the export holds is no whole vault: it ends at byte \(offset) of its archive. \(Self.maker)"
        case .badArchive(.trailingBytes, let offset):
            "What the export holds goes on after its end, from byte \(offset) of its archive. \(Self.maker)"
        case .badArchive(let error, let offset):
            "What the export holds is no vault: \(Self.text(error)) at byte \(offset) of its archive. \(Self.maker)"
        case .notOpened(let vault, let reason):
            "“\(vault)” was imported, and is in the profile, but cannot be opened now. \(reason)"
        case .badEntry(let path, let problem): "The export has “\(path)”\(Self.text(problem))"
        }
    }

    private static let maker = "Ask whoever made it for another one."

    private static func text(_ error: FormatError) -> String {
        switch error {
        case .invalid(let field): "the \(field) is not allowed"
        case .unknown(let field, _): "the \(field) is not known"
        case .duplicate(let field): "the \(field) is there twice"
        default: "there is something else"
        }
    }

    private static func text(_ problem: ImportProblem) -> String {
        switch problem {
        case .noDirectory: ", but not the directory that it would be in. \(maker)"
        case .duplicate: " twice. \(maker)"
        case .noTarget: ", which is a further name of something that does not come before it. \(maker)"
        case .attribute(let name):
            " with the extended attribute “\(String(decoding: name, as: UTF8.self))”, which is not allowed. \(maker)"
        case .tooManyAttributes: " with more extended attributes than an item can have. \(maker)"
        case .tooMuchContent: ", with which the vault would have more content than a vault can. \(maker)"
        case .vault(.noSpace): ", for which there is no space on the disk that holds the profile."
        case .vault(let error): ", which cannot be stored: \(error.summary)."
        }
    }

    var exitCode: Int32 {
        switch self {
        case .unreadable(_, _, .damaged), .unreadable(_, _, .format): 65  // EX_DATAERR
        case .badEntry(_, .vault): 74  // EX_IOERR
        case .noExport, .newerExport, .damagedHeader, .cut, .damaged, .trailing, .badArchive, .badEntry,
            .tooLarge:
            65  // EX_DATAERR
        case .unreadable, .notOpened: 74  // EX_IOERR
        case .fileExists, .notFile, .inVault: 73  // EX_CANTCREAT
        case .interrupted: 75  // EX_TEMPFAIL
        case .wrongPassphrase, .notRecipient: 77  // EX_NOPERM
        case .terminal, .recipientCount, .passphraseNeeded, .recipientNeeded: 64  // EX_USAGE
        }
    }
}
