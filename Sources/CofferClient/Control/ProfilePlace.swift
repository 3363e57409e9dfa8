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
        let lock = try systemCalls { () throws(SystemError) in try FileIdentity(of: location.lock) }
        self.init(id: try Profile.id(at: location), lock: lock, directory: try Self.directory(of: location))
    }

    /// Identifies the directory of a profile; follows a symbolic link.
    static func directory(of location: ProfileLocation) throws(ClientError) -> FileIdentity {
        try systemCalls { () throws(SystemError) in try FileIdentity(of: "\(location.path)/.") }
    }

    /// The name of the socket of its mount.
    var socketName: String {
        let text = Array("\(id) \(device) \(number) \(directoryDevice) \(directoryNumber)".utf8)
        let hash = unsafe Blake2b.hash(text.span.bytes, byteCount: 16)
        let digits = hash.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return "\(digits.joined()).socket"
    }
}
