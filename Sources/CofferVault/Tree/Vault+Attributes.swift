package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Changing attributes.
extension Vault {
    /// Changes attributes: all of them or none.
    ///
    /// Behaves like chmod(2), chown(2), truncate(2), and utimensat(2). The kernel checks whether the caller
    /// is allowed to (default_permissions).
    package func setAttributes(
        of number: Int64, _ changes: AttributeChanges
    ) throws(FileSystemError) -> Attributes {
        try ensureChangeable()
        return try changing { state throws(FileSystemError) in
            let item = try state.item(number)
            let time = Clock.fileTime
            // truncate(2) to the current size leaves the file's times alone. So does the kernel, which keeps
            // the times itself.
            let keepsTimes = changes.size == item.row.size && changes.mode == nil
            if let size = changes.size { try self.resize(item, to: size, time, state) }
            if let mode = changes.mode { try self.changeMode(of: item, to: mode, state) }
            if changes.user != nil || changes.group != nil {
                item.row.user = changes.user ?? item.row.user
                item.row.group = changes.group ?? item.row.group
                if item.type != .directory { try self.dropPrivileges(of: item, all: true, state) }
            }
            if changes.dropPrivileges { try self.dropPrivileges(of: item, all: false, state) }
            item.row.accessed = Self.time(changes.accessed, now: time) ?? item.row.accessed
            item.row.modified = Self.time(changes.modified, now: time) ?? item.row.modified
            item.row.changed =
                Self.time(changes.changed, now: time) ?? (keepsTimes ? item.row.changed : time)
            state.touch(item, changes.mode == nil ? .times : [.times, .mode])
            return Attributes(item.row)
        }
    }

    private static func time(_ change: AttributeChanges.Time?, now: Int64) -> Int64? {
        switch change {
        case .none: nil
        case .now: now
        case .at(let time): time
        }
    }

    func changeMode(
        of item: CachedItem, to mode: UInt32, _ state: VaultState
    ) throws(FileSystemError) {
        item.row.mode = item.row.mode & ~ModeBits.permissions | mode & ModeBits.permissions
        guard item.row.flags.contains(.hasAccessList) else { return }
        try updateAccessList(of: item, state)
    }

    /// Removes set-user-id, set-group-id, and capabilities from a file whose content or owner changed.
    ///
    /// - Parameter all: Whether to do so for items of all types, as chown(2) does.
    func dropPrivileges(of item: CachedItem, all: Bool, _ state: VaultState) throws(FileSystemError) {
        guard item.type == .regular || all else { return }
        var mode = item.row.mode & ~ModeBits.setUser
        if mode & ModeBits.groupExecute != 0 { mode &= ~ModeBits.setGroup }
        if mode != item.row.mode {
            item.row.mode = mode
            state.touch(item, .mode)
        }
        try dropCapability(of: item, state)
    }

    /// Removes privileges as a write by `caller` does: root keeps set-user-id and set-group-id.
    ///
    /// A caller outside the file's group removes set-group-id even if the group cannot execute the file.
    func dropPrivileges(of item: CachedItem, by caller: Caller, _ state: VaultState) throws(FileSystemError) {
        if caller.user != 0 {
            if caller.group != item.row.group, item.row.mode & ModeBits.setGroup != 0 {
                item.row.mode &= ~ModeBits.setGroup
                state.touch(item, .mode)
            }
            try dropPrivileges(of: item, all: false, state)
        }
        try dropCapability(of: item, state)
    }

    /// Removes security.capability, as any change of the content does.
    func dropCapability(of item: CachedItem, _ state: VaultState) throws(FileSystemError) {
        guard item.row.flags.contains(.hasCapability) else { return }
        try removeAttribute(ExtendedAttributeName.capability, of: item, state)
    }

    /// Records a read of an item, if its access time is older than its times of change, or older than a day
    /// (as with the mount option relatime).
    package func noteAccess(_ number: Int64) {
        if isReadOnly { return }
        let day: Int64 = 86_400_000_000_000
        state.withLock { state in
            guard state.stopped == nil, let row = try? state.peek(number) else { return }
            let now = Clock.realTime
            guard row.accessed <= row.modified || row.accessed <= row.changed || row.accessed < now - day,
                let item = try? state.item(number)
            else { return }
            item.row.accessed = Clock.fileTime
            state.touch(item, [])
            upkeep.note(changes: state.changeCount)
        }
    }
}
