internal import CofferVault
internal import Glibc

extension Caller {
    /// The user that this process runs as.
    static var current: Caller { Caller(user: geteuid(), group: getegid(), umask: 0) }
}
