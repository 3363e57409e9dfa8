internal import CofferFormat
internal import Glibc

extension FileSystemError {
    /// The errno that a program sees.
    ///
    /// No other code chooses one.
    package var errno: Int32 {
        switch self {
        case .notFound: ENOENT
        case .alreadyExists: EEXIST
        case .notDirectory: ENOTDIR
        case .isDirectory: EISDIR
        case .directoryNotEmpty: ENOTEMPTY
        case .nameTooLong: ENAMETOOLONG
        case .invalidArgument: EINVAL
        case .notPermitted: EPERM
        case .accessDenied: EACCES
        case .readOnly: EROFS
        case .crossVault: EXDEV
        case .busy: EBUSY
        case .noSpace: ENOSPC
        case .fileTooLarge: EFBIG
        case .tooManyLinks: EMLINK
        case .attributeNotFound: ENODATA
        case .attributeTooLarge: E2BIG
        case .bufferTooSmall: ERANGE
        case .notSupported: EOPNOTSUPP
        case .beyondEnd: ENXIO
        case .stale: ESTALE
        case .damaged, .format, .system, .pageAbsent, .index, .stopped: EIO
        case .unreachable, .notArrived: EIO
        case .timedOut: ETIMEDOUT
        case .keyMissing, .notSealed: EIO
        }
    }
}
