internal import Glibc

/// What stat(2) says of a file, as far as anybody asks.
package struct FileStatus: Equatable, Sendable {
    /// What kinds of files are told apart.
    package enum Kind: Sendable {
        case regular, directory, symbolicLink, other
    }

    /// What is at the name.
    package let kind: Kind
    /// Its size in bytes.
    package let byteCount: Int
    /// When its content was changed last, in nanoseconds since 1970 by the clock of the file system's host.
    package let modified: Int64
    /// Names that it has.
    package let linkCount: Int
    /// Which file it is: device and number.
    package let identity: FileIdentity

    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        byteCount = Int(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        linkCount = Int(status.st_nlink)
        identity = FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }
}

/// Tells a file from all others that exist at the same time.
package struct FileIdentity: Hashable, Sendable {
    /// As st_dev and st_ino.
    package let device: UInt64, number: UInt64
}
