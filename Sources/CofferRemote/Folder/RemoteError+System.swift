internal import CofferSystem
internal import Glibc

extension RemoteError {
    /// The meaning of a failed system call on a folder, for a caller that reads.
    ///
    /// ENOENT becomes `.absent`; the caller finds out whether the object is missing, or the whole folder.
    init(_ error: SystemError) {
        self =
            switch error.code {
            case ENOENT: .absent
            case EEXIST: .exists
            case EROFS: .readOnly
            case ENOSPC, EDQUOT: .full
            case EACCES, EPERM: .refused(FolderRefusal(error, isChange: false).text)
            case ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EFBIG, EXDEV, ENOTEMPTY:
                .refused(error.description)
            case EOPNOTSUPP, ENOSYS, EINVAL: .unsupported(error.description)
            case EIO, EREMOTEIO, ENOMEM, EMFILE, ENFILE, EBUSY, EAGAIN: .failed(error.description)
            // A server that is gone or now has another file system there, and any other network error.
            default: .unreachable(error.description)
            }
    }

    /// The meaning for a caller that changes something.
    init(changing error: SystemError) {
        self = error.isForbidden ? .refused(FolderRefusal(error, isChange: true).text) : RemoteError(error)
    }
}

/// Runs system calls that read, and translates their errors.
func reading<Value: ~Copyable>(_ body: () throws(SystemError) -> Value) throws(RemoteError) -> Value {
    do throws(SystemError) { return try body() } catch { throw RemoteError(error) }
}

/// Runs system calls that change something, and translates their errors.
func changing<Value: ~Copyable>(_ body: () throws(SystemError) -> Value) throws(RemoteError) -> Value {
    do throws(SystemError) { return try body() } catch { throw RemoteError(changing: error) }
}
