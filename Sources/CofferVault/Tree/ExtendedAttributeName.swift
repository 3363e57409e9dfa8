internal import CofferStore

/// Names of extended attributes that have a meaning to a vault.
package enum ExtendedAttributeName {
    /// The access control list of an item.
    package static let accessList = Array("system.posix_acl_access".utf8)
    static let capability = Array("security.capability".utf8)
    static let defaultList = Array("system.posix_acl_default".utf8)

    /// The content state of an item; it cannot be set, and is not listed, so that copies do not include it.
    static let state = Array("user.coffer.state".utf8)

    private static let reserved = Array("user.coffer.".utf8)
    private static let prefixes = ["user.", "trusted.", "security."].map { Array($0.utf8) }

    private static let user = Array("user.".utf8)

    /// The largest size of a name, in bytes, as Linux has it.
    private static let byteCountMax = 255

    /// Whether a name has a size that Linux allows, and no zero byte.
    ///
    /// The kernel passes on no others, but an export or a remote may have them.
    static func isValid(_ name: [UInt8]) -> Bool {
        (1...byteCountMax).contains(name.count) && !name.contains(0)
    }

    /// Whether attributes of this name are sent to other devices.
    static func isSent(_ name: [UInt8]) -> Bool {
        name.starts(with: user) && name.count > user.count && !name.starts(with: reserved) && isValid(name)
    }

    /// Whether attributes of this name are in exports, for items of a type.
    ///
    /// Linux lets symbolic links have neither attributes of users nor lists, and only directories pass lists on.
    static func isExported(_ name: [UInt8], of type: FileType?) -> Bool {
        if type == .symbolicLink { return false }
        return isSent(name) || name == accessList || name == defaultList && type == .directory
    }

    /// Whether attributes of this name are stored.
    static func isKept(_ name: [UInt8]) -> Bool {
        if name == accessList || name == defaultList { return true }
        return !name.starts(with: reserved)
            && prefixes.contains { name.starts(with: $0) && name.count > $0.count }
    }

    /// Whether attributes of this name are Coffer's own.
    static func isReserved(_ name: [UInt8]) -> Bool { name.starts(with: reserved) }

    static func flag(_ name: [UInt8]) -> ItemRow.Flags {
        switch name {
        case capability: .hasCapability
        case accessList: .hasAccessList
        case defaultList: .hasDefaultList
        default: []
        }
    }
}
