internal import CofferSystem
internal import Glibc

extension RemoteError {
    /// What a failed call on a folder means for who wanted to read there.
    ///
    /// ENOENT is for the caller to judge: what was missing may be the object, or all of the folder.
    init(_ error: SystemError) {
        self =
            switch error.code {
            case ENOENT: .absent
            case EEXIST: .exists
            case EROFS: .readOnly
            case ENOSPC, EDQUOT: .full
            case EACCES, EPERM, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EFBIG, EXDEV, ENOTEMPTY:
                .refused(error.description)
            case EOPNOTSUPP, ENOSYS, EINVAL: .unsupported(error.description)
            case EIO, EREMOTEIO, ENOMEM, EMFILE, ENFILE, EBUSY, EAGAIN: .failed(error.description)
            // A server that is gone, or has another file system there now; anything else that a network says.
            default: .unreachable(error.description)
            }
    }

    /// The same for who wanted to change something: where that is not permitted, it says whose the place is.
    init(changing error: SystemError) {
        self = error.isForbidden ? .refused(error.withOwner) : RemoteError(error)
    }
}

/// Runs calls of the system that read.
func reading<Value: ~Copyable>(_ body: () throws(SystemError) -> Value) throws(RemoteError) -> Value {
    do throws(SystemError) { return try body() } catch { throw RemoteError(error) }
}

/// Runs calls of the system that change something.
func changing<Value: ~Copyable>(_ body: () throws(SystemError) -> Value) throws(RemoteError) -> Value {
    do throws(SystemError) { return try body() } catch { throw RemoteError(changing: error) }
}
