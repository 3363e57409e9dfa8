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
        case .otherType: 73  // EX_CANTCREAT
        case .notFetched(_, _, .damaged): 65  // EX_DATAERR
        case .notFetched: 74  // EX_IOERR
        }
    }
}
