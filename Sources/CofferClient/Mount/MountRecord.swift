internal import CofferSystem
internal import Glibc

/// What a mount leaves beside its control socket, so that commands find the profile that serves it.
///
/// A mount is known by the device number of its filesystem, which no other living mount has, in whatever
/// mount namespace.
struct MountRecord: Codable, Equatable, Sendable {
    /// The process that serves the mount.
    let process: Int32
    /// The path of the profile's directory.
    let profile: String
    /// The path where the vaults are mounted.
    let mountPoint: String
    /// The path of the control socket.
    let socket: String
    /// The filesystem's device number, as in mountinfo; nil if it is unknown.
    let device: String?

    private static let byteCountMax = 64 << 10
    private static let suffix = ".mount"

    /// The path of the record of a mount, by its control socket.
    private static func path(beside socket: String) -> String { socket + suffix }

    /// Writes the record; commands then find the mount without the path of its profile.
    func write() {
        do {
            try WholeFile.replace(Self.path(beside: socket), with: try ControlCoding.encode(self))
        } catch {
            DebugLog.log(.warning, .mount, "the record of the mount cannot be written: \(kindOf: error)")
        }
    }

    /// Removes the record of a mount that has ended.
    static func remove(beside socket: String) { try? Directory.removeFile(path(beside: socket)) }

    /// Reads the record beside a socket; nil if there is none.
    static func read(beside socket: String) -> MountRecord? {
        guard let bytes = try? WholeFile.read(path(beside: socket), limit: byteCountMax) else { return nil }
        return try? ControlCoding.decode(MountRecord.self, bytes)
    }

    /// The records of this user's mounts that have not ended.
    ///
    /// A mount that was killed leaves its record, which is left out once another process, or none, holds the
    /// profile's lock.
    static func all(_ environment: (String) -> String?) -> [MountRecord] {
        var records: [MountRecord] = []
        for directory in RuntimeDirectory.existing(environment) {
            for name in ((try? Directory.names(in: directory)) ?? []).sorted() where name.hasSuffix(suffix) {
                let socket = "\(directory)/\(name.dropLast(suffix.count))"
                guard let record = read(beside: socket), record.isAlive else { continue }
                records.append(record)
            }
        }
        return records
    }

    /// Reads the record of a profile's mount, wherever its socket is; nil if there is none.
    static func read(of location: ProfileLocation) -> MountRecord? {
        guard let place = try? ProfilePlace(of: location) else { return nil }
        let variables = ProcessVariables.all
        return RuntimeDirectory.existing { variables[$0] }.lazy.compactMap {
            read(beside: RuntimeDirectory.socket(of: place, in: $0))
        }.first
    }

    /// What the profile's lock would say.
    var note: LockNote { LockNote(process: process, mountPoint: mountPoint, socket: socket) }

    /// The location of the profile.
    var location: ProfileLocation { ProfileLocation(path: profile) }

    /// Whether its process still holds the profile's lock.
    private var isAlive: Bool { location.lockNote?.process == process && location.isLocked }
}
