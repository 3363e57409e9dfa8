internal import CofferFUSE
internal import CofferFacts
internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Synchronization

// Sets aside changes that this device may not send.
extension SharedVaults {
    /// The longest name of a vault, in bytes, less room for a number.
    private static let nameByteCountMax = 240

    /// Returns a vault on this device alone that receives the unsent changes of a shared vault.
    ///
    /// Creates one for each day; `coffer status` names it.
    func asidePlace(of shared: SharedVault) throws(FileSystemError) -> Vault {
        // No vault may be opened after the mount has ended, or for one that is being deleted.
        guard self[shared.mounted.slot] === shared, !isEnding else { throw .notPermitted }
        let root = try shared.mounted.vault.attributes(of: Vault.rootNumber)
        let owner = Caller(user: root.user, group: root.group, umask: 0o077)
        let day = CivilDate(milliseconds: SharedVault.milliseconds()).description
        let suffix = " (not sent, \(day)"
        // Old vaults may have a name with a leading dot; a new one must not.
        var base = String(shared.name.drop { $0 == "." })
        while base.utf8.count + suffix.utf8.count > Self.nameByteCountMax { base.removeLast() }
        if let name = shared.asideVault.withLock({ $0 }), let known = vaults.vault(named: Array(name.utf8)),
            profile.share(of: known.vault.id) == nil
        {
            return known.vault
        }
        for number in 1...Int(UInt16.max) {
            let name = base + suffix + (number == 1 ? ")" : ", \(number))")
            let mounted: MountedVault
            if let known = vaults.vault(named: Array(name.utf8)) {
                // The user has shared that vault since.
                if profile.share(of: known.vault.id) != nil { continue }
                mounted = known
            } else {
                do throws(ClientError) { mounted = try vaults.create(name, owner: owner) } catch {
                    if case .vaultName(.vaultExists) = error { continue }
                    throw OpenVaults.fileSystemError(error)
                }
                rootChanged(name)
            }
            shared.asideVault.withLock { $0 = name }
            return mounted.vault
        }
        throw .alreadyExists
    }
}
