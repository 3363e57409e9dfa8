internal import CofferSystem
internal import Glibc

extension SystemError {
    /// EEXIST, about a name.
    static func existing(_ name: String) -> SystemError { SystemError("rename", code: EEXIST, on: name) }
    /// EBUSY, about a name.
    static func busy(_ name: String) -> SystemError { SystemError("rename", code: EBUSY, on: name) }
    /// ENOENT, about a name.
    static func missing(_ name: String) -> SystemError { SystemError("open", code: ENOENT, on: name) }
    /// ELOOP, EISDIR, ENXIO: a symbolic link, a directory, a socket, or a device that does not exist.
    var isNoFile: Bool { [ELOOP, EISDIR, ENXIO].contains(code) }
    /// EACCES, about changes in a directory.
    static func forbidden(in directory: OpenDirectory) -> SystemError {
        SystemError("access", code: EACCES, on: "\(directory.path)/.")
    }
    /// ENOTDIR: something else is in a directory's place.
    var isNotDirectory: Bool { code == ENOTDIR }
    /// EEXIST: the name is taken.
    var isExisting: Bool { code == EEXIST }
    /// ENOENT: there is no such name.
    var isMissing: Bool { code == ENOENT }
    /// EACCES or EPERM: this user lacks the permission.
    var isForbidden: Bool { code == EACCES || code == EPERM }
    /// EXDEV: the two places are in different file systems, or in parts of one that do not exchange files.
    var isOtherFileSystem: Bool { code == EXDEV }
    /// Codes by which file systems say that they lack a call.
    ///
    /// link(2) answers EPERM where there are no links, and EMLINK where too few are allowed.
    var isNotSupported: Bool {
        [EINVAL, EBADF, ENOSYS, EOPNOTSUPP, EPERM, EMLINK, ENOTTY].contains(code)
    }
    /// Codes that some FUSE file systems, such as rclone, answer instead; a failing disk answers them, too.
    var mayMeanNotSupported: Bool { [EIO, EREMOTEIO, EPROTO, ECONNABORTED].contains(code) }
}
