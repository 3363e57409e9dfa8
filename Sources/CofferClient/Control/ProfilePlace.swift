internal import CofferCrypto
internal import CofferSystem

/// Tells a profile from all others on this machine, copies of it included: they have the same id, but not the same
/// lock file, or, as copies by hard links, not the same directory.
///
/// Files rather than the path: the path changes when the directory is renamed, and is another one across bind mounts.
/// Whoever has the profile holds the lock file open.
struct ProfilePlace: Codable, Equatable, Sendable {
    /// The profile's id.
    let id: String
    /// Device and number of its lock file.
    let device: UInt64, number: UInt64
    /// The same of its directory.
    let directoryDevice: UInt64, directoryNumber: UInt64

    init(id: String, lock: FileIdentity, directory: FileIdentity) {
        self.id = id
        (device, number) = (lock.device, lock.number)
        (directoryDevice, directoryNumber) = (directory.device, directory.number)
    }

    /// The profile at a place, whoever has it.
    init(of location: ProfileLocation) throws(ProfileError) {
        let lock = try systemCalls { () throws(SystemError) in try FileIdentity(of: location.lock) }
        self.init(id: try Profile.id(at: location), lock: lock, directory: try Self.directory(of: location))
    }

    /// The directory of a profile, also where a symbolic link leads to it.
    static func directory(of location: ProfileLocation) throws(ProfileError) -> FileIdentity {
        try systemCalls { () throws(SystemError) in try FileIdentity(of: "\(location.path)/.") }
    }

    /// The name of the socket through which a mount of it is reached.
    var socketName: String {
        let text = Array("\(id) \(device) \(number) \(directoryDevice) \(directoryNumber)".utf8)
        let hash = unsafe Blake2b.hash(text.span.bytes, byteCount: 16)
        let digits = hash.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return "\(digits.joined()).socket"
    }
}
