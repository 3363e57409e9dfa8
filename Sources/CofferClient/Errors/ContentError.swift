package import CofferFormat
internal import CofferSystem

/// A failure that concerns items of a vault which a command names.
package enum ContentError: Error {
    case noSuchPath(path: String, vault: String)
    case noSuchConflict(path: String)
    /// The item has no pin of its own; a directory above it may have one.
    case notPinned(path: String, vault: String)
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
        case .notFetched(_, _, .damaged): 65  // EX_DATAERR
        case .notFetched: 74  // EX_IOERR
        }
    }
}
