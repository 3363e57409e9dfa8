internal import CofferCrypto
internal import CofferSystem

/// Distinguishes a profile from all others on this machine, including its copies.
///
/// Copies have the same id, but another lock file, or, if made by hard links, another directory. The path
/// does not serve: it changes when the directory is renamed, and differs across bind mounts. The process that
/// uses the profile holds the lock file open.
struct ProfilePlace: Codable, Equatable, Sendable {
    /// The profile's id.
    let id: String
    /// Device and inode number of its lock file.
    let device: UInt64, number: UInt64
    /// Device and inode number of its directory.
    let directoryDevice: UInt64, directoryNumber: UInt64

    init(id: String, lock: FileIdentity, directory: FileIdentity) {
        self.id = id
        (device, number) = (lock.device, lock.number)
        (directoryDevice, directoryNumber) = (directory.device, directory.number)
    }

    /// Identifies the profile at a location, whether or not this process holds its lock.
    init(of location: ProfileLocation) throws(ClientError) {
        let directory = try Self.directory(of: location)
        // On a read-only filesystem the directory itself may be locked.
        let lock =
            Directory.exists(location.lock)
            ? try systemCalls { () throws(SystemError) in try FileIdentity(of: location.lock) } : directory
        self.init(id: try Profile.id(at: location), lock: lock, directory: directory)
    }

    /// Identifies the directory of a profile; follows a symbolic link.
    static func directory(of location: ProfileLocation) throws(ClientError) -> FileIdentity {
        try systemCalls { () throws(SystemError) in try FileIdentity(of: "\(location.path)/.") }
    }

    /// The name of the socket of its mount.
    var socketName: String { Self.socketName("\(RequestMessage.version) \(text)") }

    /// The names of the sockets of mounts of older versions, which do not understand today's messages.
    var olderSocketNames: [String] {
        // The first of these was the same for all copies of a profile.
        ["\(id.prefix(16)).socket", Self.socketName(text)]
            + (2..<RequestMessage.version).map { Self.socketName("\($0) \(text)") }
    }

    private var text: String { "\(id) \(device) \(number) \(directoryDevice) \(directoryNumber)" }

    private static func socketName(_ text: String) -> String {
        let text = Array(text.utf8)
        let hash = unsafe Blake2b.hash(text.span.bytes, byteCount: 16)
        let digits = hash.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return "\(digits.joined()).socket"
    }
}
