internal import CofferFUSE
internal import CofferFacts
internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Synchronization

// Where what a person wrote goes that no others may hear of.
extension SharedVaults {
    /// The longest name that a vault can have, in bytes, less room for a number.
    private static let nameByteCountMax = 240

    /// A vault on this device alone for what was written to a shared one, and goes from there.
    ///
    /// One a day is made. The person is told.
    func asidePlace(of shared: SharedVault) throws(FileSystemError) -> Vault {
        // Nothing opens a vault behind the end, or for one that is being deleted.
        guard self[shared.mounted.slot] === shared, !isEnding else { throw .notPermitted }
        let root = try shared.mounted.vault.attributes(of: Vault.rootNumber)
        let owner = Caller(user: root.user, group: root.group, umask: 0o077)
        let day = CivilDate(milliseconds: SharedVault.milliseconds()).description
        let suffix = " (not sent, \(day)"
        // Vaults had names with a leading dot once; no new one gets such a name.
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
                // Somebody has given it to others since.
                if profile.share(of: known.vault.id) != nil { continue }
                mounted = known
            } else {
                do throws(ProfileError) { mounted = try vaults.create(name, owner: owner) } catch {
                    if case .vaultExists = error { continue }
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
