internal import Glibc

/// The names of users and groups, for messages.
package enum UserName {
    /// The user that this process acts as.
    package static var current: String { user(geteuid()) }

    /// The number of the user that this process acts as.
    package static var currentNumber: UInt32 { geteuid() }

    /// The login name of a user; the number if there is none.
    ///
    /// Uses getpwuid_r(3).
    package static func user(_ number: UInt32) -> String {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: bufferByteCount)
        // SAFETY: the strings of the entry are in the buffer, and are copied while it exists.
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress,
                unsafe getpwuid_r(number, &entry, start, buffer.count, &found) == 0,
                let name = unsafe found?.pointee.pw_name
            else { return "\(number)" }
            return unsafe String(cString: name)
        }
    }

    /// The name of a group; the number if there is none.
    ///
    /// Uses getgrgid_r(3).
    package static func group(_ number: UInt32) -> String {
        var entry = unsafe Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        var buffer = [CChar](repeating: 0, count: bufferByteCount)
        // SAFETY: as above.
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress,
                unsafe getgrgid_r(number, &entry, start, buffer.count, &found) == 0,
                let name = unsafe found?.pointee.gr_name
            else { return "\(number)" }
            return unsafe String(cString: name)
        }
    }

    private static let bufferByteCount = 65_536
}
