internal import Glibc

/// The names of users and groups, for messages, and who is in which group.
package enum UserName {
    /// The user that this process acts as.
    package static var current: String { user(geteuid()) }

    /// The number of the user that this process acts as.
    package static var currentNumber: UInt32 { geteuid() }

    /// The login name of a user; the number if there is none.
    ///
    /// Uses getpwuid_r(3).
    package static func user(_ number: UInt32) -> String { login(of: number)?.name ?? "\(number)" }

    /// The name of a group; the number if there is none.
    ///
    /// Uses getgrgid_r(3).
    package static func group(_ number: UInt32) -> String {
        var entry = unsafe Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        var buffer = [CChar](repeating: 0, count: bufferByteCount)
        // SAFETY: the strings of the entry are in the buffer, and are copied while it exists.
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress,
                unsafe getgrgid_r(number, &entry, start, buffer.count, &found) == 0,
                let name = unsafe found?.pointee.gr_name
            else { return "\(number)" }
            return unsafe String(cString: name)
        }
    }

    /// The groups that this process has; they were those of its user when the user logged in.
    ///
    /// Uses getegid(2) and getgroups(2).
    package static var currentGroups: Set<UInt32> {
        var groups = [gid_t](repeating: 0, count: groupCountMax)
        let count = unsafe getgroups(Int32(groups.count), &groups)
        return Set(groups.prefix(Int(max(0, count)))).union([getegid()])
    }

    /// The groups that the system's database has for a user now; empty for an unknown user.
    ///
    /// Uses getgrouplist(3).
    package static func groups(of number: UInt32) -> Set<UInt32> {
        guard let login = login(of: number) else { return [] }
        var groups = [gid_t](repeating: 0, count: groupCountMax)
        var count = Int32(groups.count)
        guard unsafe getgrouplist(login.name, login.group, &groups, &count) >= 0 else { return [login.group] }
        return Set(groups.prefix(Int(count)))
    }

    /// The name and the primary group of a user; nil if the database does not have the user.
    private static func login(of number: UInt32) -> (name: String, group: UInt32)? {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: bufferByteCount)
        // SAFETY: as above.
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress,
                unsafe getpwuid_r(number, &entry, start, buffer.count, &found) == 0,
                let name = unsafe found?.pointee.pw_name, let group = unsafe found?.pointee.pw_gid
            else { return nil }
            return (unsafe String(cString: name), group)
        }
    }

    private static let bufferByteCount = 65_536
    /// NGROUPS_MAX of Linux.
    private static let groupCountMax = 65_536
}
