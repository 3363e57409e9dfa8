internal import CCofferSystem
internal import Glibc

/// What the user of this process may do with the file at a path; symbolic links are followed.
package enum PathAccess {
    /// Whether the file can be read.
    package static func mayRead(_ path: String) -> Bool { may(path, R_OK) }

    /// Whether names in the directory can be looked up.
    package static func maySearch(_ path: String) -> Bool { may(path, X_OK) }

    /// Whether names in the directory can be added and removed.
    package static func mayChange(_ path: String) -> Bool { may(path, W_OK | X_OK) }

    /// Whether the file has an access control list; if so, the permissions of its group are the mask of the
    /// list.
    package static func hasAccessList(_ path: String) -> Bool {
        unsafe coffer_path_has_mark(path, "system.posix_acl_access") != 0
    }

    /// Uses faccessat(2) with AT_EACCESS.
    private static func may(_ path: String, _ mode: Int32) -> Bool {
        unsafe faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0
    }
}
