internal import CofferSystem

/// Gives other users of a folder the access that the folder's own permissions grant.
///
/// Members of the folder's group, and others, get the same access in all directories below it, whatever umask
/// the process that makes them has. git does the same with core.sharedRepository. Access that the umask or a
/// default ACL grants anyway is kept. If the folder has an access control list, its group gets nothing, since
/// the group bits of such a folder show the ACL's mask.
struct FolderAccess {
    private let folder: FileStatus
    /// The folder's permissions, without the bits that an access control list makes unreliable.
    private let permissions: UInt32
    private static let setGroup: UInt32 = 0o2000, groupMayWrite: UInt32 = 0o020
    /// Only the owner of a file, or of the directory, removes it from a directory with this bit.
    static let sticky: UInt32 = 0o1000

    init(of folder: FileStatus, hasAccessList: Bool) {
        self.folder = folder
        permissions = hasAccessList ? folder.permissions & ~0o2070 : folder.permissions
    }

    /// The permissions that a directory has at least.
    private var directory: UInt32 {
        permissions & (0o077 | Self.sticky) | (group == nil ? 0 : Self.setGroup)
    }

    /// The permissions that a file has at least; files are never changed, only renamed.
    private var file: UInt32 { permissions & 0o044 }

    /// The group of everything in the folder; nil for the group of the process that makes it.
    private var group: UInt32? {
        permissions & (Self.groupMayWrite | Self.setGroup) == 0 ? nil : folder.group
    }

    /// Gives other users access to a directory that belongs to this user.
    ///
    /// Leaves other users' directories, and those that already grant the access, unchanged.
    func apply(to directory: OpenDirectory) throws(SystemError) {
        let status = try directory.status()
        guard let change = change(of: status, atLeast: self.directory) else { return }
        try directory.setAccess(group: change.group, change.permissions)
    }

    /// Gives other users read access to a file that this user has just made.
    func apply(to file: POSIXStorageFile) throws(SystemError) {
        guard let change = change(of: try file.status(), atLeast: self.file) else { return }
        try file.setAccess(group: change.group, change.permissions)
    }

    private func change(
        of status: FileStatus, atLeast bits: UInt32
    ) -> (group: UInt32?, permissions: UInt32)? {
        let group = self.group == status.group ? nil : self.group
        guard status.owner == UserName.currentNumber, status.permissions & bits != bits || group != nil else {
            return nil
        }
        return (group, status.permissions | bits)
    }
}
