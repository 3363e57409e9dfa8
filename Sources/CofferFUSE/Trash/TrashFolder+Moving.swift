internal import CofferFormat
internal import CofferSystem
internal import CofferVault

// Moving items into the trash of their vault, and out of it.
extension TrashFolder {
    /// As `FileSystem.rename`, with a directory of the folder at one end or at both.
    func rename(
        _ name: [UInt8], in parent: Node, to newName: [UInt8], in newParent: Node, _ mode: Vault.RenameMode
    ) throws(FileSystemError) {
        guard mode != .exchange else { throw .notSupported }
        guard newName.count <= Vault.nameByteCountMax else { throw .nameTooLong }
        // A vault is no file, and the folder and its parts stay.
        guard ![.root, .trash].contains(parent), ![.root, .trash].contains(newParent) else {
            throw .notPermitted
        }
        switch (Part(parent), Part(newParent)) {
        case (.info, .info): try renameInfo(name, to: newName, mode)
        case (.info, _): throw .crossVault
        // Not EXDEV: mv(1) would copy a file into memory and delete it.
        case (_, .info): throw .notPermitted
        case (let part?, let newPart?):
            let found = try find(name, part)
            try checkFree(newName, newPart, except: found.mounted.slot)
            let directory = try makeDirectory(newPart, of: found.mounted)
            try move(found.name, in: found.directory, to: newName, in: directory, of: found.mounted, mode)
            forgetShown(newName, newPart, of: found.mounted)
        case (let part?, nil):
            let found = try find(name, part)
            guard found.mounted.slot == newParent.slot else { throw .crossVault }
            try move(
                found.name, in: found.directory, to: newName, in: newParent.item, of: found.mounted, mode)
        case (nil, let part?): try moveIn(name, in: parent, to: newName, part)
        case (nil, nil): throw .notDirectory
        }
    }

    private func renameInfo(
        _ name: [UInt8], to newName: [UInt8], _ mode: Vault.RenameMode
    ) throws(FileSystemError) {
        if drafts.node(named: name) == nil {
            _ = try find(name, .info)
            throw .notPermitted
        }
        if let base = Self.base(newName, .info) { try checkFree(base, .info) }
        try drafts.rename(name, to: newName, replaces: mode == .replace) { notifier.isKnown($0) }
    }

    /// Moves an item into the trash of its vault, with the info file that a program has drafted for it.
    private func moveIn(
        _ name: [UInt8], in parent: Node, to newName: [UInt8], _ part: Part
    ) throws(FileSystemError) {
        guard let mounted = root.vault(slot: parent.slot) else { throw .stale }
        _ = try mounted.vault.lookup(name, in: parent.item)
        try checkFree(newName, part)
        let directory = try makeDirectory(part, of: mounted)
        let infoName = newName + TrashInfo.suffix
        let draft = part == .files ? drafts.node(named: infoName) : nil
        var infos: Int64?
        if let draft {
            let path = try names(to: parent.item, in: mounted.vault) + [name]
            let info = TrashInfo(path: path, draft: try drafts.text(of: draft))
            infos = try keep(info, as: infoName, in: mounted)
        }
        do throws(FileSystemError) {
            try move(name, in: parent.item, to: newName, in: directory, of: mounted, .keep)
        } catch {
            if let infos { withdraw(infoName, in: infos, of: mounted) }
            throw error
        }
        forgetShown(newName, part, of: mounted)
        guard draft != nil else { return }
        drafts.remove(infoName) { notifier.isKnown($0) }
        forgetShown(infoName, .info, of: mounted)
    }

    private func move(
        _ name: [UInt8], in parent: Int64, to newName: [UInt8], in newParent: Int64, of mounted: MountedVault,
        _ mode: Vault.RenameMode
    ) throws(FileSystemError) {
        let nameless = try mounted.vault.rename(name, in: parent, to: newName, in: newParent, mode)
        forget(name, in: parent, of: mounted)
        forget(newName, in: newParent, of: mounted)
        guard let nameless else { return }
        notifier.enqueueAtOnce(.nameless(item: nameless), in: mounted.vault, mounted.slot)
    }

    /// The names on the way from the root of a vault to a directory.
    private func names(to directory: Int64, in vault: Vault) throws(FileSystemError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        var number = directory
        while number != Vault.rootNumber {
            let parent = try vault.lookup([46, 46], in: number).number
            names.append(try name(of: number, in: parent, vault))
            number = parent
        }
        return names.reversed()
    }

    private func name(
        of directory: Int64, in parent: Int64, _ vault: Vault
    ) throws(FileSystemError) -> [UInt8] {
        // After "." and "..", which may have the same number.
        var cookie: Int64 = 2
        while true {
            let entries = try vault.readDirectory(parent, after: cookie, limit: 256, attributes: false)
            if let entry = entries.first(where: { $0.item == directory }) { return entry.name }
            guard let last = entries.last else { throw .stale }
            cookie = last.cookie
        }
    }

    // MARK: What is made in a vault

    private var caller: Caller { Caller(user: root.owner.user, group: root.owner.group, umask: 0) }

    /// A part of a vault's trash, which is made if there is none.
    ///
    /// - Throws: `.accessDenied` if something else has its name, or the user may not write into the vault's root.
    private func makeDirectory(_ part: Part, of mounted: MountedVault) throws(FileSystemError) -> Int64 {
        let trash = try makeDirectory(name, in: Vault.rootNumber, of: mounted)
        return try makeDirectory(part.name, in: trash, of: mounted)
    }

    private func makeDirectory(
        _ name: [UInt8], in parent: Int64, of mounted: MountedVault
    ) throws(FileSystemError) -> Int64 {
        let (vault, user) = (mounted.vault, root.owner.user)
        let present: Attributes
        do throws(FileSystemError) {
            present = try vault.lookup(name, in: parent)
        } catch {
            guard case .notFound = error else { throw error }
            let above = try vault.attributes(of: parent)
            guard user == 0 || user != above.user || above.mode & 0o200 != 0 else { throw .accessDenied }
            let item = Vault.NewItem(mode: FileType.directory.modeBits | 0o700)
            let made = try vault.create(item, named: name, in: parent, by: caller)
            forget(name, in: parent, of: mounted)
            return made.number
        }
        guard present.type == .directory, present.user == user else { throw .accessDenied }
        return present.number
    }

    /// Stores an info file in a vault's trash.
    ///
    /// - Returns: The directory in which it is.
    private func keep(
        _ info: TrashInfo, as name: [UInt8], in mounted: MountedVault
    ) throws(FileSystemError) -> Int64 {
        let directory = try makeDirectory(.info, of: mounted)
        let item = Vault.NewItem(mode: FileType.regular.modeBits | 0o600)
        let made = try mounted.vault.create(item, named: name, in: directory, by: caller)
        let text = info.kept
        do throws(FileSystemError) {
            try unsafe mounted.vault.contents.write(
                text.span.bytes, to: made.number, at: 0, touches: true, dropsPrivileges: false)
        } catch {
            withdraw(name, in: directory, of: mounted)
            throw error
        }
        forget(name, in: directory, of: mounted)
        return directory
    }

    /// Removes an info file whose item did not come.
    private func withdraw(_ name: [UInt8], in directory: Int64, of mounted: MountedVault) {
        if let removed = try? mounted.vault.unlink(name, in: directory), removed.isLast {
            notifier.enqueueAtOnce(.nameless(item: removed.number), in: mounted.vault, mounted.slot)
        }
        forget(name, in: directory, of: mounted)
    }
}
