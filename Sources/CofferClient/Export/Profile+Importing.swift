internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

// The store of a vault that an import makes: no vault of the profile until all of it is there.
extension Profile {
    private static let markSuffix = ".importing"

    /// The file that says that the store of a vault is not whole.
    private func mark(of vault: VaultRecord) -> String { directory(of: vault) + Self.markSuffix }

    /// Makes an empty store, which `finishImport` or `abandonImport` ends; after a crash, the next opening removes it.
    ///
    /// - Returns: The vault, without a slot.
    /// - Throws: `.vaultExists`, `.invalidVaultName`.
    func beginImport(named name: String, owner: Caller) throws(ClientError) -> VaultRecord {
        try Self.validate(vaultName: name)
        if vaults.contains(where: { $0.name.hasSameBytes(as: name) }) {
            throw .vaultName(.vaultExists(name: name))
        }
        let id = VaultID(low: Random.number(), high: Random.number())
        let vault = VaultRecord(
            id: id, slot: 0, name: name, keys: [EpochKey(vault: id, epoch: .first, key: .random())])
        try systemCalls { () throws(SystemError) in try WholeFile.create(mark(of: vault), []) }
        do throws(ClientError) {
            // A store without its mark would stay after a crash.
            try systemCalls { () throws(SystemError) in try OpenDirectory.open(location.vaults).sync() }
            try makeStore(of: vault, at: directory(of: vault), owner)
        } catch {
            abandonImport(of: vault)
            throw error
        }
        return vault
    }

    /// Adds the vault to the profile.
    ///
    /// - Returns: The vault, in its slot.
    /// - Throws: `.vaultExists`.
    func finishImport(of vault: VaultRecord) throws(ClientError) -> VaultRecord {
        let record = try adding(vault)
        try? Directory.removeFile(mark(of: record))
        return record
    }

    /// Removes the store.
    func abandonImport(of vault: VaultRecord) {
        let path = directory(of: vault)
        if Directory.exists(path) {
            do throws(SystemError) { try Directory.removeAll(path) } catch { return }
        }
        try? Directory.removeFile(mark(of: vault))
    }

    /// Removes the stores of imports that a crash ended.
    ///
    /// Whoever can write to the profile's directory, such as a service that syncs it, must not lead this elsewhere: a store
    /// is a directory, and its mark a file, and neither is a link.
    func removeAbandonedImports() {
        let known = Set(vaults.map(\.id.description))
        for name in (try? Directory.names(in: location.vaults)) ?? [] where name.hasSuffix(Self.markSuffix) {
            let id = String(name.dropLast(Self.markSuffix.count))
            guard VaultID(hexadecimal: id) != nil else { continue }
            let path = "\(location.vaults)/\(id)", mark = "\(location.vaults)/\(name)"
            guard Self.isKind(.regular, mark) else { continue }
            if !known.contains(id), Directory.exists(path) {
                guard Self.isKind(.directory, path) else { continue }
                do throws(SystemError) { try Directory.removeAll(path) } catch { continue }
            }
            try? Directory.removeFile(mark)
        }
    }

    private static func isKind(_ kind: FileStatus.Kind, _ path: String) -> Bool {
        (try? FileStatus(of: path))?.kind == kind
    }
}
