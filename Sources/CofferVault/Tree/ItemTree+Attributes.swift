internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Changing attributes.
extension ItemTree {
    /// Changes attributes other than the size.
    ///
    /// - Parameter keepsTimes: Whether the time of the last change stays, unless it is among the changes.
    mutating func setAttributes(
        of item: CachedItem, _ changes: AttributeChanges, at time: Int64, keepsTimes: Bool
    ) throws(FileSystemError) {
        if let mode = changes.mode { try changeMode(of: item, to: mode) }
        if changes.user != nil || changes.group != nil {
            item.row.user = changes.user ?? item.row.user
            item.row.group = changes.group ?? item.row.group
            if item.type != .directory { try dropPrivileges(of: item, all: true) }
        }
        if changes.dropPrivileges { try dropPrivileges(of: item, all: false) }
        item.row.accessed = Self.time(changes.accessed, now: time) ?? item.row.accessed
        item.row.modified = Self.time(changes.modified, now: time) ?? item.row.modified
        item.row.changed = Self.time(changes.changed, now: time) ?? (keepsTimes ? item.row.changed : time)
        touch(item, changes.mode == nil ? .times : [.times, .mode])
    }

    private static func time(_ change: AttributeChanges.Time?, now: Int64) -> Int64? {
        switch change {
        case .none: nil
        case .now: now
        case .at(let time): time
        }
    }

    mutating func changeMode(
        of item: CachedItem, to mode: UInt32
    ) throws(FileSystemError) {
        item.row.mode = item.row.mode & ~ModeBits.permissions | mode & ModeBits.permissions
        guard item.row.flags.contains(.hasAccessList) else { return }
        try updateAccessList(of: item)
    }

    /// Removes set-user-id, set-group-id, and capabilities from a file whose content or owner changed.
    ///
    /// - Parameter all: Whether to do so for items of all types, as chown(2) does.
    mutating func dropPrivileges(of item: CachedItem, all: Bool) throws(FileSystemError) {
        guard item.type == .regular || all else { return }
        var mode = item.row.mode & ~ModeBits.setUser
        if mode & ModeBits.groupExecute != 0 { mode &= ~ModeBits.setGroup }
        if mode != item.row.mode {
            item.row.mode = mode
            touch(item, .mode)
        }
        try dropCapability(of: item)
    }

    /// Removes privileges as a write by `caller` does: root keeps set-user-id and set-group-id.
    ///
    /// A caller outside the file's group removes set-group-id even if the group cannot execute the file.
    mutating func dropPrivileges(of item: CachedItem, by caller: Caller) throws(FileSystemError) {
        if caller.user != 0 {
            if caller.group != item.row.group, item.row.mode & ModeBits.setGroup != 0 {
                item.row.mode &= ~ModeBits.setGroup
                touch(item, .mode)
            }
            try dropPrivileges(of: item, all: false)
        }
        try dropCapability(of: item)
    }

    /// Removes security.capability, as any change of the content does.
    mutating func dropCapability(of item: CachedItem) throws(FileSystemError) {
        guard item.row.flags.contains(.hasCapability) else { return }
        try removeAttribute(ExtendedAttributeName.capability, of: item)
    }

    /// Records a read of an item, if its access time is older than its times of change, or older than a day.
    ///
    /// - Returns: Whether it was recorded.
    mutating func recordAccess(_ number: Int64) throws(FileSystemError) -> Bool {
        let day: Int64 = 86_400_000_000_000
        guard let row = try row(number) else { return false }
        let now = Clock.realTime
        guard row.accessed <= row.modified || row.accessed <= row.changed || row.accessed < now - day else {
            return false
        }
        let item = try item(number)
        item.row.accessed = Clock.fileTime
        touch(item, [])
        return true
    }
}
