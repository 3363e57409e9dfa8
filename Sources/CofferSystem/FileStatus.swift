internal import CCofferSystem
internal import Glibc

/// The parts of stat(2)'s answer that Coffer uses.
package struct FileStatus: Equatable, Sendable {
    /// The kinds of files that callers distinguish.
    package enum Kind: Sendable {
        case regular, directory, symbolicLink, other
    }

    /// What kind of file it is.
    package let kind: Kind
    /// Its size in bytes.
    package let byteCount: Int
    /// When its content last changed, in nanoseconds since 1970 by the clock of the file system's host.
    package let modified: Int64
    /// The number of names that it has.
    package let linkCount: Int
    /// Which file it is.
    package let identity: FileIdentity
    /// The numbers of its owner and its group.
    package let owner: UInt32, group: UInt32
    /// The lower twelve bits of st_mode.
    package let permissions: UInt32

    /// The status of the file at a path; does not follow a symbolic link.
    package init(of path: String) throws(SystemError) {
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe lstat(path, &status) }
        self.init(status)
    }

    /// The size of an open regular file; 0 for pipes and the like.
    package static func byteCount(of descriptor: Int32) -> Int {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return 0 }
        let file = FileStatus(status)
        return file.kind == .regular ? file.byteCount : 0
    }

    /// Whether an open file is a regular one.
    static func isRegular(_ descriptor: Int32) -> Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && FileStatus(status).kind == .regular
    }

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
        (owner, group) = (status.st_uid, status.st_gid)
        permissions = status.st_mode & 0o7777
        identity = FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }
}

/// Distinguishes a file from all others that exist at the same time.
package struct FileIdentity: Hashable, Sendable {
    /// st_dev and st_ino.
    package let device: UInt64, number: UInt64

    /// The device as in mountinfo, such as “0:57”.
    package var deviceText: String {
        "\(coffer_device_major(dev_t(device))):\(coffer_device_minor(dev_t(device)))"
    }

    init(device: UInt64, number: UInt64) {
        self.device = device
        self.number = number
    }

    /// Identifies an open file.
    package init(ofOpen descriptor: Int32) throws(SystemError) {
        var status = stat()
        try retryingInterrupted("stat") { unsafe fstat(descriptor, &status) }
        self.init(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }

    /// Identifies the file at a path.
    ///
    /// - Parameter followsLink: Whether to follow a symbolic link.
    package init(of path: String, followsLink: Bool = false) throws(SystemError) {
        var status = stat()
        try retryingInterrupted("stat", on: path) {
            unsafe followsLink ? stat(path, &status) : lstat(path, &status)
        }
        self.init(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }
}
