internal import CofferSystem

/// Who may use what is made in a folder, as the folder itself says: what its group and others may do there, they may
/// do in all directories below, too, whatever the umask of who makes them.
///
/// As git does with core.sharedRepository. What the umask, or a default ACL, allows anyway stays allowed. Where the
/// folder has an access control list, its group is given nothing: the permissions that show for it are the mask.
struct FolderAccess {
    private let folder: FileStatus
    /// What the folder lets others do, without what an access control list only seems to say.
    private let permissions: UInt32
    private static let setGroup: UInt32 = 0o2000, sticky: UInt32 = 0o1000, groupMayWrite: UInt32 = 0o020

    init(of folder: FileStatus, hasAccessList: Bool) {
        self.folder = folder
        permissions = hasAccessList ? folder.permissions & ~0o2070 : folder.permissions
    }

    /// What a directory has at least.
    private var directory: UInt32 {
        permissions & (0o077 | Self.sticky) | (group == nil ? 0 : Self.setGroup)
    }

    /// What a file has at least; none is ever changed, but for its name.
    private var file: UInt32 { permissions & 0o044 }

    /// The group to which all belongs; nil for that of who makes it.
    private var group: UInt32? {
        permissions & (Self.groupMayWrite | Self.setGroup) == 0 ? nil : folder.group
    }

    /// Gives others what the folder allows, in a directory of this user's own.
    ///
    /// Nothing happens to a directory of somebody else, or one that allows it already.
    func apply(to directory: OpenDirectory) throws(SystemError) {
        let status = try directory.status()
        guard let change = change(of: status, atLeast: self.directory) else { return }
        try directory.setAccess(group: change.group, change.permissions)
    }

    /// Lets others read a file that this user has just made.
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

extension SystemError {
    /// The error with whose the directory is in which nothing may be changed, for who can mend that.
    var withOwner: String {
        guard isForbidden, let subject else { return description }
        let parent = Directory.parent(of: subject)
        guard
            let place = [parent, subject].first(where: { (try? OpenDirectory.open($0))?.isWritable == false }
            ),
            let status = try? OpenDirectory.open(place).status()
        else { return description }
        return """
            \(UserName.current) may not write in \(place), which belongs to \(UserName.user(status.owner)), group \
            \(UserName.group(status.group)), mode \(String(status.permissions, radix: 8)). Let its owner, or root, \
            allow it: chmod g+rwxs
            """
    }
}
