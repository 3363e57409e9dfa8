internal import CofferFormat
internal import CofferSystem

extension FolderTree {
    /// What the folder's own permissions will keep its users from doing with each other's objects.
    func shortcomings() throws(RemoteError) -> [String] {
        let root = try openRoot()
        let status = try reading { () throws(SystemError) in try root.status() }
        var texts: [String] = []
        if status.permissions & FolderAccess.sticky != 0, status.permissions & 0o022 != 0 {
            texts.append(
                """
                \(path) belongs to \(UserName.user(status.owner)), and has mode \
                \(String(status.permissions, radix: 8)), with the sticky bit: users can remove only what they have put. \
                Vaults can be shared there, but “coffer vault delete --at-remote” leaves what others have put. Let \
                \(FolderRefusal.owner(status)) clear the bit: chmod -R -t \(path)
                """)
        }
        if let bytes = root.defaultAccessList, let list = AccessList(bytes) {
            for user in Set([status.owner, UserName.currentNumber]).sorted()
            where list.excludes(user, UserName.groups(of: user), groupOfFiles: Self.groupOfFiles(status)) {
                let name = UserName.user(user)
                texts.append(
                    """
                    \(name) cannot use what others put into \(path): its default access control list, which new files \
                    get, does not have \(name). Let \(FolderRefusal.owner(status)) add it: setfacl -R -m \
                    u:\(name):rwX -m d:u:\(name):rwX \(path)
                    """)
            }
        }
        return texts
    }

    /// The group that new files in the folder get; nil for that of whoever makes them.
    private static func groupOfFiles(_ folder: FileStatus) -> UInt32? {
        folder.permissions & 0o2000 != 0 ? folder.group : nil
    }
}

extension AccessList {
    private static let all: UInt16 = 7

    /// Whether other users are named in a folder's default list, and this one may not do everything with the files
    /// that they make there.
    ///
    /// - Parameters:
    ///   - groups: Those of the user.
    ///   - groupOfFiles: The group that all files get; nil if each has that of its maker.
    func excludes(_ user: UInt32, _ groups: Set<UInt32>, groupOfFiles: UInt32?) -> Bool {
        guard user != 0, namesOthers(than: user) else { return false }
        let mask = permissions(.mask) ?? Self.all
        if let own = entries.first(where: { $0.tag == .user && $0.id == user }) {
            return own.permissions & mask != Self.all
        }
        let ofGroups = entries.filter { entry in
            switch entry.tag {
            case .namedGroup: groups.contains(entry.id)
            case .group: groupOfFiles.map(groups.contains) ?? false
            default: false
            }
        }
        // acl(5): the entry for others is for users in none of the groups.
        if !ofGroups.isEmpty { return !ofGroups.contains { $0.permissions & mask == Self.all } }
        return permissions(.other) != Self.all
    }

    private func namesOthers(than user: UInt32) -> Bool {
        entries.contains { $0.tag == .namedGroup || $0.tag == .user && $0.id != user }
    }
}
