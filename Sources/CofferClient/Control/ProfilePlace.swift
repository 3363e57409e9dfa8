internal import CofferCrypto
internal import CofferSystem

/// Tells a profile from all others on this machine, copies of it included: they have the same id, but not the same
/// lock file.
///
/// The lock file rather than the path: the path changes when the directory is renamed, and is another one across bind
/// mounts, while whoever has the profile holds this file open.
struct ProfilePlace: Codable, Equatable, Sendable {
    /// The profile's id.
    let id: String
    /// Device and number of its lock file.
    let device: UInt64, number: UInt64

    init(id: String, lock: FileIdentity) {
        self.id = id
        (device, number) = (lock.device, lock.number)
    }

    /// The profile at a place, whoever has it.
    init(of location: ProfileLocation) throws(ProfileError) {
        let lock = try systemCalls { () throws(SystemError) in try FileIdentity(of: location.lock) }
        self.init(id: try Profile.id(at: location), lock: lock)
    }

    /// The name of the socket through which a mount of it is reached.
    var socketName: String {
        let text = Array("\(id) \(device) \(number)".utf8)
        let hash = unsafe Blake2b.hash(text.span.bytes, byteCount: 16)
        let digits = hash.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return "\(digits.joined()).socket"
    }
}
