internal import CofferSystem

/// The mounts that a process sees, from its mountinfo file; see proc(5).
struct MountTable {
    /// A mounted filesystem.
    struct Mount: Equatable {
        /// The id of this mount; each copy in another mount namespace has its own.
        let id: String
        /// The filesystem's major and minor device number, such as “0:57”.
        let device: String
        let path: String
        let type: String
        /// The user that mounted it, as FUSE notes; nil for other types.
        let user: UInt32?
    }

    /// The type of a mount of vaults.
    static let vaultsType = "fuse.coffer"

    let mounts: [Mount]

    /// The topmost mount of vaults at exactly this path.
    func vaults(at path: String) -> Mount? { mounts.last { $0.path == path && $0.type == Self.vaultsType } }

    /// Whether a mount was taken from its place; false if that cannot be told.
    ///
    /// - Parameter device: The filesystem's device number; nil if it is not known.
    static func isDetached(_ path: String, _ device: String?) -> Bool {
        guard let device, let table = try? read() else { return false }
        return !table.mounts.contains { $0.path == path && $0.device == device }
    }

    /// Reads the table of a process, or of one of its threads; nil for this one.
    static func read(of process: Int32? = nil) throws(SystemError) -> MountTable {
        let name = process.map { "\($0)" } ?? "self"
        return MountTable(try WholeFile.read("/proc/\(name)/mountinfo", limit: 64 << 20))
    }

    /// Parses the lines, and skips malformed ones.
    ///
    /// Works on bytes, because others choose the names: in a Swift string, a carriage return forms one
    /// character with the newline, and a combining accent with the space before it.
    init(_ bytes: [UInt8]) {
        mounts = bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 6, let dash = fields.firstIndex(of: [UInt8(ascii: "-")]),
                dash + 1 < fields.count
            else { return nil }
            return Mount(
                id: String(decoding: fields[0], as: UTF8.self),
                device: String(decoding: fields[2], as: UTF8.self),
                path: Self.unescape(fields[4]), type: String(decoding: fields[dash + 1], as: UTF8.self),
                user: fields.last.flatMap { Self.user(in: $0) })
        }
    }

    /// The value of the option user_id.
    private static func user(in options: ArraySlice<UInt8>) -> UInt32? {
        let name = Array("user_id=".utf8)
        let option = options.split(separator: UInt8(ascii: ",")).last { $0.starts(with: name) }
        return option.flatMap { UInt32(String(decoding: $0.dropFirst(name.count), as: UTF8.self)) }
    }

    /// Decodes space, tab, newline and backslash, which mountinfo writes as three octal digits after a
    /// backslash.
    private static func unescape(_ field: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let value = octal(rest.prefix(3)) {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func octal(_ digits: ArraySlice<UInt8>) -> UInt8? {
        let zero = UInt8(ascii: "0")
        guard digits.count == 3, digits.allSatisfy({ (zero...zero + 7).contains($0) }) else { return nil }
        return UInt8(exactly: digits.reduce(0) { $0 << 3 | Int($1 - zero) })
    }
}
