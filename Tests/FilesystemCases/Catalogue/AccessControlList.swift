internal import Glibc

/// A POSIX access control list in the form that the kernel takes as an extended attribute.
struct AccessControlList: Equatable, CustomStringConvertible {
    /// One entry: to whom it applies and what it allows.
    enum Entry: Hashable {
        case owner(UInt16), user(UInt32, UInt16), owningGroup(UInt16), group(UInt32, UInt16), mask(UInt16)
        case others(UInt16)

        fileprivate var fields: (tag: UInt16, permissions: UInt16, id: UInt32) {
            switch self {
            case .owner(let bits): (0x01, bits, .max)
            case .user(let id, let bits): (0x02, bits, id)
            case .owningGroup(let bits): (0x04, bits, .max)
            case .group(let id, let bits): (0x08, bits, id)
            case .mask(let bits): (0x10, bits, .max)
            case .others(let bits): (0x20, bits, .max)
            }
        }

        fileprivate init?(tag: UInt16, permissions: UInt16, id: UInt32) {
            switch tag {
            case 0x01: self = .owner(permissions)
            case 0x02: self = .user(id, permissions)
            case 0x04: self = .owningGroup(permissions)
            case 0x08: self = .group(id, permissions)
            case 0x10: self = .mask(permissions)
            case 0x20: self = .others(permissions)
            default: return nil
            }
        }
    }

    var entries: [Entry]

    init(_ entries: Entry...) {
        self.entries = entries
    }

    /// Reads the form of the kernel; nil if it is malformed.
    init?(bytes: [UInt8]) {
        guard bytes.count % 8 == 4, Self.number(bytes[..<4]) == 2 else { return nil }
        entries = []
        for start in stride(from: 4, to: bytes.count, by: 8) {
            let entry = Entry(
                tag: UInt16(Self.number(bytes[start..<start + 2])),
                permissions: UInt16(Self.number(bytes[start + 2..<start + 4])),
                id: UInt32(Self.number(bytes[start + 4..<start + 8])))
            guard let entry else { return nil }
            entries.append(entry)
        }
    }

    /// Version 2, then eight bytes for each entry, all little-endian.
    var bytes: [UInt8] {
        entries.reduce(into: [2, 0, 0, 0]) { bytes, entry in
            let (tag, permissions, id) = entry.fields
            let number = UInt64(tag) | UInt64(permissions) << 16 | UInt64(id) << 32
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
    }

    var description: String { "\(entries)" }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    static let access = "system.posix_acl_access"
    static let defaults = "system.posix_acl_default"
}

extension Sandbox {
    func setList(_ name: String, _ list: AccessControlList, _ attribute: String = AccessControlList.access)
        throws
    {
        try setAttribute(name, attribute, list.bytes)
    }

    func list(_ name: String, _ attribute: String = AccessControlList.access) throws -> AccessControlList {
        let bytes = try self.attribute(name, attribute)
        guard let list = AccessControlList(bytes: bytes) else {
            throw CaseFailure("\(attribute) of \(name) is malformed: \(bytes)", #line)
        }
        return list
    }
}
