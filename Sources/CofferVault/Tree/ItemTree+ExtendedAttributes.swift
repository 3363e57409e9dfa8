internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Extended attributes, xattr(7), and the access lists that they contain.
extension ItemTree {
    /// The maximum size of a value, and of all names of an item with a zero byte after each, in bytes.
    static let valueByteCountMax = 65_536

    /// The value of an attribute.
    ///
    /// - Throws: `.attributeNotFound`.
    func extendedAttribute(_ name: [UInt8], of number: Int64) throws(FileSystemError) -> [UInt8] {
        let row = try peek(number)
        guard row.flags.contains(.hasAttributes) else { throw .attributeNotFound }
        let value = try index.attribute(name, of: number)
        guard let value else { throw .attributeNotFound }
        return value
    }

    /// The names of all attributes of an item.
    func extendedAttributeNames(of number: Int64) throws(FileSystemError) -> [[UInt8]] {
        guard try peek(number).flags.contains(.hasAttributes) else { return [] }
        return try index.attributes(of: number).map(\.name)
    }

    /// Sets an attribute whose name and size are valid.
    mutating func setExtendedAttribute(
        _ name: [UInt8], of number: Int64, to value: [UInt8], _ mode: Vault.AttributeMode,
        groups: () -> [UInt32]?, _ space: inout FreeSpace
    ) throws(FileSystemError) {
        let item = try self.item(number)
        let old = try index.attribute(name, of: number)
        if mode == .create, old != nil { throw .alreadyExists }
        if mode == .replace, old == nil { throw .attributeNotFound }
        let permissions = item.row.mode
        try space.ensure(for: value.count + 4096)
        if name == ExtendedAttributeName.accessList || name == ExtendedAttributeName.defaultList {
            try setAccessList(name, of: item, to: value)
            // As for chmod(2): a caller outside the file's group cannot make it set-group-id.
            if item.row.mode & ModeBits.setGroup != 0, let groups = groups(),
                !groups.contains(item.row.group)
            {
                item.row.mode &= ~ModeBits.setGroup
            }
        } else {
            try setAttribute(name, of: item, to: value)
        }
        item.row.changed = Clock.fileTime
        // A list stays on this device; its effect on the mode is sent.
        touch(item, item.row.mode == permissions ? .attributes : [.attributes, .mode])
    }

    /// Removes an attribute that is not Coffer's own.
    mutating func removeExtendedAttribute(_ name: [UInt8], of number: Int64) throws(FileSystemError) {
        let item = try self.item(number)
        try removeAttribute(name, of: item)
        item.row.changed = Clock.fileTime
        touch(item, .attributes)
    }

    private mutating func setAttribute(
        _ name: [UInt8], of item: CachedItem, to value: [UInt8]
    ) throws(FileSystemError) {
        let number = item.row.number
        let attributes = try index.attributes(of: number)
        let others = attributes.filter { $0.name != name }
        let bytes = others.reduce(name.count + 1) { $0 + $1.name.count + 1 }
        guard bytes <= Self.valueByteCountMax else { throw .noSpace }
        let old = attributes.first { $0.name == name }?.value
        try keepAttributes(of: item)
        try index.setAttribute(name, of: number, to: value, replacing: old)
        item.row.flags.formUnion([.hasAttributes, ExtendedAttributeName.flag(name)])
        touch(item, .attributes)
    }

    /// Sets attributes that another device has; skips one if there is no room for its name.
    ///
    /// - Parameter attributes: All attributes of the item, by name; updated.
    mutating func setAttributesFromElsewhere(
        _ new: [ShownItem.ExtendedAttribute], of item: CachedItem,
        having attributes: inout [[UInt8]: [UInt8]]
    ) throws(FileSystemError) {
        var byteCount = attributes.keys.reduce(0) { $0 + $1.count + 1 }
        if new.contains(where: { attributes[$0.name] != $0.value }) { try keepAttributes(of: item) }
        for (name, value) in new.map({ ($0.name, $0.value) }) where attributes[name] != value {
            let old = attributes[name]
            if old == nil {
                guard byteCount + name.count + 1 <= Self.valueByteCountMax else { continue }
                byteCount += name.count + 1
            }
            try index.setAttribute(name, of: item.row.number, to: value, replacing: old)
            attributes[name] = value
            item.row.flags.formUnion([.hasAttributes, ExtendedAttributeName.flag(name)])
            touch(item, .attributes)
        }
    }

    mutating func removeAttribute(
        _ name: [UInt8], of item: CachedItem
    ) throws(FileSystemError) {
        let number = item.row.number
        guard let old = try index.attribute(name, of: number) else { throw .attributeNotFound }
        try keepAttributes(of: item)
        try index.removeAttribute(name, of: number, value: old)
        let isLast = try !index.hasAttributes(of: number)
        item.row.flags.subtract(ExtendedAttributeName.flag(name))
        if isLast { item.row.flags.remove(.hasAttributes) }
        touch(item, .attributes)
    }

    // MARK: Access lists

    private mutating func setAccessList(
        _ name: [UInt8], of item: CachedItem, to value: [UInt8]
    ) throws(FileSystemError) {
        guard let list = AccessList(value) else { throw .invalidArgument }
        if name == ExtendedAttributeName.defaultList {
            guard item.type == .directory else { throw .accessDenied }
            return try setAttribute(name, of: item, to: value)
        }
        // The list comes first: if there is no room for it, nothing may change.
        if !list.isPlain {
            try setAttribute(name, of: item, to: value)
        } else if item.row.flags.contains(.hasAccessList) {
            try removeAttribute(name, of: item)
        }
        item.row.mode = item.row.mode & ~0o777 | list.mode
    }

    /// Updates the access list after a change of the permissions.
    mutating func updateAccessList(of item: CachedItem) throws(FileSystemError) {
        let number = item.row.number
        guard
            let value = try index.attribute(ExtendedAttributeName.accessList, of: number),
            var list = AccessList(value)
        else { return }
        list.apply(mode: item.row.mode)
        try setAttribute(ExtendedAttributeName.accessList, of: item, to: list.bytes)
    }

    /// Sets the permissions of a new item: from its directory's default list, or from the umask.
    mutating func inheritAccessLists(
        _ row: inout ItemRow, from directory: ItemRow, umask: UInt32
    ) throws(FileSystemError) {
        if FileType(mode: row.mode) == .symbolicLink { return }
        guard directory.flags.contains(.hasDefaultList),
            let value = try index.attribute(ExtendedAttributeName.defaultList, of: directory.number),
            var list = AccessList(value)
        else {
            row.mode &= ~(umask & 0o777)
            return
        }
        list.restrict(to: row.mode)
        row.mode = row.mode & ~0o777 | list.mode
        let number = row.number
        if !list.isPlain {
            try index.setAttribute(
                ExtendedAttributeName.accessList, of: number, to: list.bytes, replacing: nil)
            row.flags.formUnion([.hasAttributes, .hasAccessList])
        }
        if FileType(mode: row.mode) == .directory {
            try index.setAttribute(
                ExtendedAttributeName.defaultList, of: number, to: value, replacing: nil)
            row.flags.formUnion([.hasAttributes, .hasDefaultList])
        }
    }
}
