package import CofferFormat
internal import CofferSystem

/// A failure that concerns items of a vault which a command names.
package enum ContentError: Error {
    case noSuchPath(path: String, vault: String)
    case noSuchConflict(path: String)
    /// The item has no pin of its own; a directory above it may have one.
    case notPinned(path: String, vault: String)
    /// The vault keeps no past states.
    case noHistory(vault: String)
    /// No state of that time, or an earlier one, is kept.
    case beforeHistory(vault: String)
    /// No snapshot has that name.
    case noSuchSnapshot(name: String, vault: String)
    /// No snapshot has that name, and it is no time either.
    case noSuchState(name: String, vault: String)
    /// A snapshot has that name already.
    case snapshotExists(name: String, vault: String)
    /// No snapshot can have that name.
    case invalidSnapshotName(String)
    /// The history cannot be turned off, since there are snapshots.
    case snapshotsLeft(names: [String], vault: String)
    /// No person or device of that name has changed the vault.
    case noSuchAuthor(name: String, vault: String, known: [String])
    /// The name fits several people or devices that have changed the vault.
    case ambiguousAuthor(name: String, vault: String, fitting: [String])
    /// Somebody has touched the folder in which an undo makes contents.
    case undoDisturbed(vault: String)
    /// The path led to nothing in that state.
    case neverThere(path: String, vault: String)
    /// The path, or a part of it, is a directory now and was a file, or the other way round.
    case otherType(path: String, vault: String)
    /// Content is pinned, but not all of it could be fetched.
    case notFetched(vault: String, bytes: Int64, FileSystemError)
}

extension ContentError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noSuchPath(let path, let vault): "“\(vault)” has no “\(path)”."
        case .noSuchConflict(let path): "“\(path)” is not a conflict copy. List them with: coffer conflicts"
        case .notPinned(let path, let vault):
            "“\(path)” in “\(vault)” has no pin of its own. List the pins with: coffer pin --list"
        case .noHistory(let vault):
            """
            “\(vault)” keeps no history. Turn it on, from now on, with: coffer vault set --history 14d \
            \(ShellWord.quoted(vault))
            """
        case .beforeHistory(let vault):
            "The history of “\(vault)” begins later. List what it has with: coffer history \(ShellWord.quoted(vault))"
        case .noSuchSnapshot(let name, let vault):
            """
            “\(vault)” has no snapshot “\(name)”. List what it has with: coffer snapshot list \
            \(ShellWord.quoted(vault))
            """
        case .noSuchState(let name, let vault):
            """
            “\(name)” is no time such as 2026-11-20T14:05, 14:05 or 2h, and no snapshot of “\(vault)”. List what it has \
            with: coffer snapshot list \(ShellWord.quoted(vault))
            """
        case .snapshotExists(let name, let vault):
            """
            “\(vault)” already has a snapshot “\(name)”. Choose another name, or remove that one with: coffer snapshot \
            remove \(ShellWord.quoted(vault)) \(ShellWord.quoted(name))
            """
        case .invalidSnapshotName(let name):
            """
            “\(name)” cannot be the name of a snapshot: use 1 to 100 bytes without “/” and control characters. It must not \
            begin with “-” or with a space, nor read as a time, such as 2026-11-20, 14:05, 2h or now.
            """
        case .snapshotsLeft(let names, let vault):
            """
            The history of “\(vault)” stays on, since it has snapshots: \(names.map { "“\($0)”" }.joined(separator: ", ")). \
            Remove them first with: coffer snapshot remove \(ShellWord.quoted(vault)) NAME
            """
        case .noSuchAuthor(let name, let vault, let known):
            """
            No member or device called “\(name)” has changed “\(vault)”. These have: \
            \(known.map { "“\($0)”" }.joined(separator: ", ")).
            """
        case .ambiguousAuthor(let name, let vault, let fitting):
            """
            “\(name)” could be any of these in “\(vault)”: \(fitting.map { "“\($0)”" }.joined(separator: ", ")). Name a \
            device as it is shown here, or a person by the first digits of the identity.
            """
        case .undoDisturbed(let vault):
            """
            Somebody has changed the folder “.restoring-…” in “\(vault)”, in which the undo made contents ready. Nothing \
            else was changed. Try again.
            """
        case .neverThere(let path, let vault):
            """
            There was no “\(path)” in “\(vault)” then. See when there was with: coffer history \
            \(ShellWord.quoted("\(vault)/\(path)"))
            """
        case .otherType(let path, let vault):
            """
            Something in “\(vault)/\(path)” is a directory now and was a file then, or the other way round. Move it away, \
            or use --exact to replace it.
            """
        case .notFetched(let vault, let bytes, .noSpace):
            """
            The pin is set, but \(ByteText.of(bytes)) in “\(vault)” could not be fetched: the disk that \
            holds the profile is full. A mount fetches the rest once there is space.
            """
        case .notFetched(let vault, let bytes, let error):
            """
            The pin is set, but \(ByteText.of(bytes)) in “\(vault)” could not be fetched: \(error.summary). \
            A mount keeps trying.
            """
        }
    }

    var exitCode: Int32 {
        switch self {
        case .noSuchPath, .noSuchConflict, .notPinned: 66  // EX_NOINPUT
        case .noHistory, .beforeHistory, .neverThere: 66  // EX_NOINPUT
        case .noSuchSnapshot, .noSuchState: 66  // EX_NOINPUT
        case .undoDisturbed: 75  // EX_TEMPFAIL
        case .noSuchAuthor: 66  // EX_NOINPUT
        case .ambiguousAuthor: 64  // EX_USAGE
        case .invalidSnapshotName: 64  // EX_USAGE
        case .otherType, .snapshotExists, .snapshotsLeft: 73  // EX_CANTCREAT
        case .notFetched(_, _, .damaged): 65  // EX_DATAERR
        case .notFetched: 74  // EX_IOERR
        }
    }
}
