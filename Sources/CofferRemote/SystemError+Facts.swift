internal import CofferSystem
internal import Glibc

extension SystemError {
    /// EEXIST, about a name.
    static func existing(_ name: String) -> SystemError { SystemError("rename", code: EEXIST, on: name) }
    /// EBUSY, about a name.
    static func busy(_ name: String) -> SystemError { SystemError("rename", code: EBUSY, on: name) }
    /// ENOENT, about a name.
    static func missing(_ name: String) -> SystemError { SystemError("open", code: ENOENT, on: name) }
    /// ELOOP, EISDIR, ENXIO: a symbolic link, a directory, a socket or a device that is not there.
    var isNoFile: Bool { [ELOOP, EISDIR, ENXIO].contains(code) }
    /// EACCES, about changes in a directory.
    static func forbidden(in directory: OpenDirectory) -> SystemError {
        SystemError("access", code: EACCES, on: "\(directory.path)/.")
    }
    /// ENOTDIR: something else is where a directory should be.
    var isNotDirectory: Bool { code == ENOTDIR }
    /// EEXIST: the name is taken.
    var isExisting: Bool { code == EEXIST }
    /// ENOENT: there is no such name.
    var isMissing: Bool { code == ENOENT }
    /// EACCES or EPERM: this user may not.
    var isForbidden: Bool { code == EACCES || code == EPERM }
    /// EXDEV: the places are of two file systems, or of two parts of one that do not take each other's files.
    var isOtherFileSystem: Bool { code == EXDEV }
    /// How file systems say that they do not have a call; EPERM is what link(2) says on those without links, EMLINK
    /// on those that allow too few.
    var isNotSupported: Bool {
        [EINVAL, EBADF, ENOSYS, EOPNOTSUPP, EPERM, EMLINK, ENOTTY].contains(code)
    }
    /// What some FUSE file systems, rclone's among them, say instead; a disk that fails says it, too.
    var mayMeanNotSupported: Bool { [EIO, EREMOTEIO, EPROTO, ECONNABORTED].contains(code) }
}
