internal import CSQLite
package import CofferFormat
package import CofferSystem

/// Why the store failed.
package enum StoreError: Error {
    /// A call of the operating system failed.
    case system(SystemError)
    /// Bytes of the index or of a pack are not what was sealed there; `place` names them.
    case damaged(place: String)
    /// The index or a pack has a format that this version does not know.
    case format(FormatError, place: String)
    /// There is no space for the change; nothing changed.
    case noSpace
    /// SQLite failed: a mistake in Coffer, or a broken index.
    case index(code: Int32, message: String)
    /// An earlier failure made further writing unsafe; reading still works.
    case stopped(reason: String)

    init(_ error: SystemError) {
        self = error.isNoSpace ? .noSpace : .system(error)
    }
}

extension SystemError {
    /// ENOSPC or EDQUOT.
    package var isNoSpace: Bool { code == 28 || code == 122 }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .system(let error): error.description
        case .damaged(let place): "\(place) is damaged"
        case .format(.newerVersion(let found, let supported), let place):
            "\(place) has format \(found), and this version of coffer reads up to \(supported)"
        case .format(_, let place): "\(place) is damaged, or of an unexpected kind"
        case .noSpace: "no space left on the disk that holds the profile"
        case .index(let code, let message): "the index cannot be used: \(message) (\(code))"
        case .stopped(let reason): "writing has stopped: \(reason)"
        }
    }
}
