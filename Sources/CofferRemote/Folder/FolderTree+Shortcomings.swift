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
        if let bytes = root.defaultAccessList, let list = FolderDefaultAccess(bytes) {
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

/// The default access control list of a folder: who may do what with the files that are made in it, besides
/// their makers.
///
/// Linux encodes it as a version, then entries of a tag, permissions, and the number of a user or group: acl(5),
/// linux/posix_acl_xattr.h.
struct FolderDefaultAccess {
    private enum Tag {
        static let user: UInt16 = 0x02, groupOfFile: UInt16 = 0x04, group: UInt16 = 0x08
        static let mask: UInt16 = 0x10, others: UInt16 = 0x20
    }

    private struct Entry {
        let tag: UInt16, permissions: UInt16
        let number: UInt32
    }

    private static let version: UInt32 = 2
    private static let all: UInt16 = 7
    private let entries: [Entry]

    /// Decodes a list; nil if it has another version, or is cut.
    init?(_ bytes: [UInt8]) {
        func number(_ at: Int, _ count: Int) -> UInt32 {
            (0..<count).reduce(0) { $0 | UInt32(bytes[at + $1]) << (8 * UInt32($1)) }
        }
        guard bytes.count >= 4, (bytes.count - 4) % 8 == 0, number(0, 4) == Self.version else { return nil }
        entries = stride(from: 4, to: bytes.count, by: 8).map { at in
            Entry(
                tag: UInt16(number(at, 2)), permissions: UInt16(number(at + 2, 2)), number: number(at + 4, 4))
        }
    }

    /// Whether other users are named in the list, and this one may not do everything with their files.
    ///
    /// - Parameters:
    ///   - groups: Those of the user.
    ///   - groupOfFiles: The group that all files get; nil if each has that of its maker.
    func excludes(_ user: UInt32, _ groups: Set<UInt32>, groupOfFiles: UInt32?) -> Bool {
        guard user != 0, namesOthers(than: user) else { return false }
        let mask = entries.first { $0.tag == Tag.mask }?.permissions ?? Self.all
        if let own = entries.first(where: { $0.tag == Tag.user && $0.number == user }) {
            return own.permissions & mask != Self.all
        }
        let ofGroups = entries.filter { entry in
            switch entry.tag {
            case Tag.group: groups.contains(entry.number)
            case Tag.groupOfFile: groupOfFiles.map(groups.contains) ?? false
            default: false
            }
        }
        // acl(5): the entry for others is for users in none of the groups.
        if !ofGroups.isEmpty { return !ofGroups.contains { $0.permissions & mask == Self.all } }
        return entries.first { $0.tag == Tag.others }?.permissions != Self.all
    }

    private func namesOthers(than user: UInt32) -> Bool {
        entries.contains { $0.tag == Tag.group || $0.tag == Tag.user && $0.number != user }
    }
}
