internal import CSQLite
package import CofferFormat
package import CofferSystem

/// Why the store could not do what it was asked.
package enum StoreError: Error {
    /// A call of the operating system failed.
    case system(SystemError)
    /// Bytes of the index or of a pack are not what was sealed; `place` says where.
    case damaged(place: String)
    /// The index or a pack was written in a format that this version does not know.
    case format(FormatError, place: String)
    /// There is no room for the change; nothing was changed.
    case noSpace
    /// SQLite refused; a mistake of ours or a broken index.
    case index(code: Int32, message: String)
    /// An earlier failure made it unsafe to go on writing; reading still works.
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
        case .format(_, let place): "\(place) is not what it should be, or damaged"
        case .noSpace: "no space left on the disk that holds the profile"
        case .index(let code, let message): "the index cannot be used: \(message) (\(code))"
        case .stopped(let reason): "writing has stopped: \(reason)"
        }
    }
}
