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
    /// ENOTDIR: something else is where a directory should be.
    var isNotDirectory: Bool { code == ENOTDIR }
    /// EEXIST: the name is taken.
    var isExisting: Bool { code == EEXIST }
    /// ENOENT: there is no such name.
    var isMissing: Bool { code == ENOENT }
    /// How file systems say that they do not have a call; EPERM is what link(2) says on those without links, EMLINK
    /// on those that allow too few.
    var isNotSupported: Bool {
        [EINVAL, EBADF, ENOSYS, EOPNOTSUPP, EPERM, EMLINK, ENOTTY].contains(code)
    }
}
