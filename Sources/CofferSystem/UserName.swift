internal import Glibc

/// What users and groups are called, for messages.
package enum UserName {
    /// The user that this process acts as.
    package static var current: String { user(geteuid()) }

    /// The number of the user that this process acts as.
    package static var currentNumber: UInt32 { geteuid() }

    /// The login of a user; the number where nobody is called anything.
    ///
    /// As getpwuid_r(3).
    package static func user(_ number: UInt32) -> String {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: bufferByteCount)
        // SAFETY: the strings of the entry lie in the buffer, and are copied while it is there.
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress,
                unsafe getpwuid_r(number, &entry, start, buffer.count, &found) == 0,
                let name = unsafe found?.pointee.pw_name
            else { return "\(number)" }
            return unsafe String(cString: name)
        }
    }

    /// The name of a group; the number where it has none.
    ///
    /// As getgrgid_r(3).
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
