internal import CofferSystem

/// Explains to a user why a place in a folder cannot be used: which one, whose it is, and who can change that.
struct FolderRefusal {
    /// What a user is not allowed to do.
    private enum Act: String {
        case enter, read
        case change = "write in"

        /// The permission that it takes, in the bits for others.
        var bits: UInt32 {
            switch self {
            case .enter: 0o1
            case .read: 0o5
            case .change: 0o3
            }
        }
    }

    private let error: SystemError
    /// The path that the error is about, and whether the directory itself was to be changed.
    private let subject: String
    private let isAboutDirectory: Bool
    private let isChange: Bool
    private let user: FolderUser

    /// - Parameters:
    ///   - error: EACCES or EPERM.
    ///   - isChange: Whether something was to be changed.
    init(_ error: SystemError, isChange: Bool, user: FolderUser = .current) {
        self.error = error
        self.isChange = isChange
        self.user = user
        let subject = error.subject ?? ""
        isAboutDirectory = subject.hasSuffix("/.")
        self.subject = isAboutDirectory ? String(subject.dropLast(2)) : subject
    }

    /// The explanation; what the system says if the reason cannot be found.
    var text: String {
        guard subject.hasPrefix("/") else { return error.description }
        if let text = keptByStickyBit { return text }
        guard let (place, act) = obstacle, let status = try? FileStatus(of: place) else {
            return ownedDescription
        }
        return """
            \(user.name) may not \(act.rawValue) \(place), \(Self.ownership(status)). \
            \(advice(place, act, status, hasAccessList: PathAccess.hasAccessList(place)))
            """
    }

    /// What the system says, and whose the path is, or the directory that it is in.
    private var ownedDescription: String {
        for place in [subject, Directory.parent(of: subject)] {
            if let status = try? FileStatus(of: place) {
                let name = place == subject ? "it" : place
                return "\(error): \(name) \(Self.ownership(status).dropFirst("which ".count))"
            }
        }
        return error.description
    }

    /// Who may change the permissions of a file.
    static func owner(_ status: FileStatus) -> String {
        status.owner == 0 ? "root" : "\(UserName.user(status.owner)), or root,"
    }

    /// Whose a file is, as the end of a sentence.
    private static func ownership(_ status: FileStatus) -> String {
        """
        which belongs to \(UserName.user(status.owner)), group \(UserName.group(status.group)), mode \
        \(String(status.permissions, radix: 8))
        """
    }

    /// The explanation if a sticky bit keeps another user's file from being removed or replaced.
    private var keptByStickyBit: String? {
        let parent = Directory.parent(of: subject)
        guard isChange, !isAboutDirectory, let file = try? FileStatus(of: subject),
            let directory = try? FileStatus(of: parent), directory.permissions & FolderAccess.sticky != 0,
            ![file.owner, directory.owner].contains(user.number), PathAccess.mayChange(parent)
        else { return nil }
        return """
            \(user.name) may not remove \(subject), which belongs to \(UserName.user(file.owner)): in \(parent), \
            \(Self.ownership(directory)), users can remove only their own files. Let \
            \(Self.owner(directory)) change that: chmod -t \(parent)
            """
    }

    /// The place that keeps the user from the subject, and what is not allowed there.
    private var obstacle: (place: String, act: Act)? {
        for end in subject.indices.dropFirst() where subject[end] == "/" {
            let above = String(subject[..<end])
            if !PathAccess.maySearch(above) { return (above, .enter) }
        }
        let isThere = Directory.exists(subject)
        if isThere, !PathAccess.mayRead(subject) { return (subject, .read) }
        guard isChange else { return isThere && !PathAccess.maySearch(subject) ? (subject, .enter) : nil }
        let parent = Directory.parent(of: subject)
        let places = isAboutDirectory ? [subject] : [parent, subject]
        return places.first { !PathAccess.mayChange($0) }.map { ($0, .change) }
    }

    private func advice(
        _ place: String, _ act: Act, _ status: FileStatus, hasAccessList: Bool
    ) -> String {
        let (group, owner) = (UserName.group(status.group), Self.owner(status))
        let isInGroup = user.groups.contains(status.group)
        let grantsGroup = status.permissions >> 3 & act.bits == act.bits
        if !isInGroup, user.databaseGroups.contains(status.group), grantsGroup || hasAccessList {
            return """
                The system now has \(user.name) in the group \(group), but this program began before that: log in \
                again, and then unmount and mount again
                """
        }
        if hasAccessList {
            return """
                It has an access control list. Let \(owner) allow it: setfacl -R -m u:\(user.name):rwX -m \
                d:u:\(user.name):rwX \(place)
                """
        }
        if grantsGroup, !isInGroup {
            return "Members of the group \(group) may: let root add \(user.name) to it, and then log in again"
        }
        return act == .enter || user.number == status.owner
            ? "Let \(owner) allow it" : "Let \(owner) allow it: chmod g+rwxs \(place)"
    }
}

/// A user who uses a folder, and the groups by which that is decided.
struct FolderUser {
    let number: UInt32
    let name: String
    /// The groups of the process.
    let groups: Set<UInt32>
    /// The groups that the system has for the user now, which a new login would give.
    let databaseGroups: Set<UInt32>

    /// The user of this process.
    static var current: FolderUser {
        let number = UserName.currentNumber
        return FolderUser(
            number: number, name: UserName.current, groups: UserName.currentGroups,
            databaseGroups: UserName.groups(of: number))
    }
}
