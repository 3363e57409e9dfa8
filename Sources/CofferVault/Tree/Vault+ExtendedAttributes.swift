internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Names of extended attributes that have a meaning to a vault.
enum ExtendedAttributeName {
    static let capability = Array("security.capability".utf8)
    static let accessList = Array("system.posix_acl_access".utf8)
    static let defaultList = Array("system.posix_acl_default".utf8)

    /// The content state of an item; it cannot be set, and is not listed, so that copies do not include it.
    static let state = Array("user.coffer.state".utf8)

    private static let reserved = Array("user.coffer.".utf8)
    private static let prefixes = ["user.", "trusted.", "security."].map { Array($0.utf8) }

    private static let user = Array("user.".utf8)

    /// Whether attributes of this name are sent to other devices.
    static func isSent(_ name: [UInt8]) -> Bool {
        name.starts(with: user) && name.count > user.count && !name.starts(with: reserved)
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

// Extended attributes, xattr(7), and the access lists that they contain.
extension Vault {
    /// The maximum size of a value, and of all names of an item with a zero byte after each, in bytes.
    private static let valueByteCountMax = 65_536

    /// What setxattr(2) does if the name exists or not.
    package enum AttributeMode: Sendable {
        case any, create, replace
    }

    /// The value of an attribute.
    ///
    /// In vaults that track changes for a remote, each item has `user.coffer.state`, a `ContentState`.
    ///
    /// - Throws: `.attributeNotFound`.
    package func extendedAttribute(_ name: [UInt8], of number: Int64) throws(FileSystemError) -> [UInt8] {
        if name == ExtendedAttributeName.state {
            guard isTracking else { throw .attributeNotFound }
            return Array(try contentState(of: number).rawValue.utf8)
        }
        return try reading { state throws(FileSystemError) in
            let row = try state.peek(number)
            guard row.flags.contains(.hasAttributes) else { throw .attributeNotFound }
            let value = try state.index.attribute(name, of: number)
            guard let value else { throw .attributeNotFound }
            return value
        }
    }

    /// The names of all attributes of an item.
    package func extendedAttributeNames(of number: Int64) throws(FileSystemError) -> [[UInt8]] {
        try reading { state throws(FileSystemError) in
            guard try state.peek(number).flags.contains(.hasAttributes) else { return [] }
            return try state.index.attributes(of: number).map(\.name)
        }
    }

    /// Sets an attribute.
    ///
    /// An access list also changes the permissions. A list that says no more than the permissions is not
    /// stored.
    ///
    /// - Parameter groups: Returns the caller's groups; nil if they do not matter, as for root.
    /// - Throws: `.attributeTooLarge`, `.noSpace` if there are too many, `.alreadyExists`,
    ///   `.attributeNotFound`, `.invalidArgument` for an invalid list, `.notSupported` for name classes other
    ///   than user, trusted, security, and system.posix_acl_*.
    package func setExtendedAttribute(
        _ name: [UInt8], of number: Int64, to value: [UInt8], _ mode: AttributeMode,
        groups: () -> [UInt32]? = { nil }
    ) throws(FileSystemError) {
        guard value.count <= Self.valueByteCountMax else { throw .attributeTooLarge }
        guard ExtendedAttributeName.isKept(name) else { throw .notSupported }
        try ensureChangeable()
        try changing { state throws(FileSystemError) in
            let item = try state.item(number)
            let old = try state.index.attribute(name, of: number)
            if mode == .create, old != nil { throw .alreadyExists }
            if mode == .replace, old == nil { throw .attributeNotFound }
            let permissions = item.row.mode
            try self.ensureSpace(for: value.count + 4096, state)
            if name == ExtendedAttributeName.accessList || name == ExtendedAttributeName.defaultList {
                try self.setAccessList(name, of: item, to: value, state)
                // As for chmod(2): a caller outside the file's group cannot make it set-group-id.
                if item.row.mode & ModeBits.setGroup != 0, let groups = groups(),
                    !groups.contains(item.row.group)
                {
                    item.row.mode &= ~ModeBits.setGroup
                }
            } else {
                try self.setAttribute(name, of: item, to: value, state)
            }
            item.row.changed = Clock.fileTime
            // A list stays on this device; its effect on the mode is sent.
            state.touch(item, item.row.mode == permissions ? .attributes : [.attributes, .mode])
        }
    }

    /// Removes an attribute.
    ///
    /// - Throws: `.attributeNotFound`, `.notSupported` for Coffer's own attributes.
    package func removeExtendedAttribute(_ name: [UInt8], of number: Int64) throws(FileSystemError) {
        try ensureChangeable()
        if ExtendedAttributeName.isReserved(name) { throw .notSupported }
        try changing { state throws(FileSystemError) in
            let item = try state.item(number)
            try self.removeAttribute(name, of: item, state)
            item.row.changed = Clock.fileTime
            state.touch(item, .attributes)
        }
    }

    private func setAttribute(
        _ name: [UInt8], of item: CachedItem, to value: [UInt8], _ state: VaultState
    ) throws(FileSystemError) {
        let number = item.row.number
        let attributes = try state.index.attributes(of: number)
        let others = attributes.filter { $0.name != name }
        let bytes = others.reduce(name.count + 1) { $0 + $1.name.count + 1 }
        guard bytes <= Self.valueByteCountMax else { throw .noSpace }
        let old = attributes.first { $0.name == name }?.value
        try state.index.setAttribute(name, of: number, to: value, replacing: old)
        item.row.flags.formUnion([.hasAttributes, ExtendedAttributeName.flag(name)])
        state.touch(item, .attributes)
    }

    /// Sets attributes that another device has; skips one if there is no room for its name.
    ///
    /// - Parameter attributes: All attributes of the item, by name; updated.
    func setAttributesFromElsewhere(
        _ new: [ShownItem.ExtendedAttribute], of item: CachedItem,
        having attributes: inout [[UInt8]: [UInt8]],
        _ state: VaultState
    ) throws(FileSystemError) {
        var byteCount = attributes.keys.reduce(0) { $0 + $1.count + 1 }
        for (name, value) in new.map({ ($0.name, $0.value) }) where attributes[name] != value {
            let old = attributes[name]
            if old == nil {
                guard byteCount + name.count + 1 <= Self.valueByteCountMax else { continue }
                byteCount += name.count + 1
            }
            try state.index.setAttribute(name, of: item.row.number, to: value, replacing: old)
            attributes[name] = value
            item.row.flags.formUnion([.hasAttributes, ExtendedAttributeName.flag(name)])
            state.touch(item, .attributes)
        }
    }

    func removeAttribute(
        _ name: [UInt8], of item: CachedItem, _ state: VaultState
    ) throws(FileSystemError) {
        let number = item.row.number
        guard let old = try state.index.attribute(name, of: number) else { throw .attributeNotFound }
        try state.index.removeAttribute(name, of: number, value: old)
        let isLast = try !state.index.hasAttributes(of: number)
        item.row.flags.subtract(ExtendedAttributeName.flag(name))
        if isLast { item.row.flags.remove(.hasAttributes) }
        state.touch(item, .attributes)
    }

    // MARK: Access lists

    private func setAccessList(
        _ name: [UInt8], of item: CachedItem, to value: [UInt8], _ state: VaultState
    ) throws(FileSystemError) {
        guard let list = AccessList(value) else { throw .invalidArgument }
        if name == ExtendedAttributeName.defaultList {
            guard item.type == .directory else { throw .accessDenied }
            return try setAttribute(name, of: item, to: value, state)
        }
        // The list comes first: if there is no room for it, nothing may change.
        if !list.isPlain {
            try setAttribute(name, of: item, to: value, state)
        } else if item.row.flags.contains(.hasAccessList) {
            try removeAttribute(name, of: item, state)
        }
        item.row.mode = item.row.mode & ~0o777 | list.mode
    }

    /// Updates the access list after a change of the permissions.
    func updateAccessList(of item: CachedItem, _ state: VaultState) throws(FileSystemError) {
        let number = item.row.number
        guard
            let value = try state.index.attribute(ExtendedAttributeName.accessList, of: number),
            var list = AccessList(value)
        else { return }
        list.apply(mode: item.row.mode)
        try setAttribute(ExtendedAttributeName.accessList, of: item, to: list.bytes, state)
    }

    /// Sets the permissions of a new item: from its directory's default list, or from the umask.
    func inheritAccessLists(
        _ row: inout ItemRow, from directory: ItemRow, umask: UInt32, _ state: VaultState
    ) throws(FileSystemError) {
        if FileType(mode: row.mode) == .symbolicLink { return }
        guard directory.flags.contains(.hasDefaultList),
            let value = try state.index.attribute(ExtendedAttributeName.defaultList, of: directory.number),
            var list = AccessList(value)
        else {
            row.mode &= ~(umask & 0o777)
            return
        }
        list.restrict(to: row.mode)
        row.mode = row.mode & ~0o777 | list.mode
        let number = row.number
        if !list.isPlain {
            try state.index.setAttribute(
                ExtendedAttributeName.accessList, of: number, to: list.bytes, replacing: nil)
            row.flags.formUnion([.hasAttributes, .hasAccessList])
        }
        if FileType(mode: row.mode) == .directory {
            try state.index.setAttribute(
                ExtendedAttributeName.defaultList, of: number, to: value, replacing: nil)
            row.flags.formUnion([.hasAttributes, .hasDefaultList])
        }
    }
}
