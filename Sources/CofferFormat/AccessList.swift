internal import CofferSystem

/// A POSIX access control list, in the form of the extended attributes system.posix_acl_* (version 2 of
/// linux/posix_acl_xattr.h).
package struct AccessList: Equatable {
    /// Whom an entry is for.
    package enum Tag: UInt16, Sendable {
        case owner = 0x01
        case user = 0x02
        case group = 0x04
        case namedGroup = 0x08
        case mask = 0x10
        case other = 0x20
    }

    /// What somebody may do.
    package struct Entry: Equatable, Sendable {
        /// Whom it is for.
        package let tag: Tag
        /// Read 4, write 2, execute 1.
        package var permissions: UInt16
        /// The id of a named user or group.
        package let id: UInt32
    }

    /// The entries, in the order of the attribute.
    package private(set) var entries: [Entry]

    private static let version: UInt32 = 2

    /// Decodes the value of an attribute; nil if it is not a valid list.
    package init?(_ bytes: [UInt8]) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        do throws(FormatError) {
            guard try cursor.number(UInt32.self, from: span) == Self.version else { return nil }
            entries = []
            while cursor.offset < bytes.count {
                let tag = try cursor.number(UInt16.self, from: span)
                let permissions = try cursor.number(UInt16.self, from: span)
                let id = try cursor.number(UInt32.self, from: span)
                guard let tag = Tag(rawValue: tag), permissions <= 7 else { return nil }
                entries.append(Entry(tag: tag, permissions: permissions, id: id))
            }
        } catch {
            return nil
        }
        guard isValid else { return nil }
    }

    private var isValid: Bool {
        func count(_ tag: Tag) -> Int { entries.reduce(0) { $0 + ($1.tag == tag ? 1 : 0) } }
        let named = count(.user) + count(.namedGroup)
        return count(.owner) == 1 && count(.group) == 1 && count(.other) == 1
            && count(.mask) <= 1 && (named == 0 || count(.mask) == 1)
    }

    /// The value of the attribute.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 4 + 8 * entries.count)
        writer.number(Self.version)
        for entry in entries {
            writer.number(entry.tag.rawValue)
            writer.number(entry.permissions)
            writer.number(entry.id)
        }
        return writer.finish()
    }

    /// What the first entry of a tag permits; nil if there is none.
    package func permissions(_ tag: Tag) -> UInt16? {
        entries.first { $0.tag == tag }?.permissions
    }

    private mutating func set(_ tag: Tag, _ permissions: UInt16) {
        for index in entries.indices where entries[index].tag == tag {
            entries[index].permissions = permissions
        }
    }

    /// Whether the nine permission bits express the whole list.
    package var isPlain: Bool {
        entries.allSatisfy { [.owner, .group, .other].contains($0.tag) }
    }

    /// The nine permission bits: owner, mask or group, other.
    package var mode: UInt32 {
        let owner = UInt32(permissions(.owner) ?? 0)
        let group = UInt32(permissions(.mask) ?? permissions(.group) ?? 0)
        return owner << 6 | group << 3 | UInt32(permissions(.other) ?? 0)
    }

    /// Changes the list as chmod(2) does.
    package mutating func apply(mode: UInt32) {
        set(.owner, UInt16(mode >> 6 & 7))
        set(permissions(.mask) == nil ? .group : .mask, UInt16(mode >> 3 & 7))
        set(.other, UInt16(mode & 7))
    }

    /// Turns a directory's default list into the access list of a new item: removes the permissions that the
    /// creator's mode does not allow.
    package mutating func restrict(to mode: UInt32) {
        apply(mode: self.mode & mode)
    }
}
