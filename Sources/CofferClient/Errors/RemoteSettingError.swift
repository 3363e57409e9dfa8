package import CofferRemote
package import CofferSync
internal import CofferSystem

/// A failure that concerns which remote a vault has.
package enum RemoteSettingError: Error {
    /// The text is not the URL of a remote.
    case remoteURL(RemoteURL.Mistake)
    case noRemote(vault: String)
    case hasRemote(vault: String, url: String)
    /// The vault was synced to another remote, and this remote does not have it.
    case otherRemote(vault: String, url: String)
    /// The remote has the vault, but some objects are missing.
    case incompleteRemote(vault: String, url: String)
    /// Content of the vault is only at its remote.
    case remoteOnly(vault: String, items: Int, bytes: Int64)
    /// The vault cannot be deleted at its remote while it has other members.
    case othersAreMembers(vault: String, count: Int)
    /// Only an owner may delete the vault at its remote.
    case notOwner(vault: String)
    /// The folder of the remote is in a mount of vaults.
    case inMount(url: String, mountPoint: String)
    /// Another command is adding, moving or removing the vault's remote.
    case vaultBusy(name: String)
    /// A call to a remote failed.
    case failed(url: String, RemoteError)
    /// A vault cannot be synced, because of its remote.
    case notSynced(vault: String, url: String, SyncError)
    /// The members of a vault were not changed, because of its remote.
    case membersNotChanged(vault: String, url: String, SyncError)
    /// The remote takes no credentials from Coffer.
    case noLogin(url: String)
    /// The profile has no credentials for the place.
    case notLoggedIn(place: String)
    /// The credentials cannot be those of the place.
    case badLogin(place: String, RemoteLogin.Mistake)
}

extension RemoteSettingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .remoteURL(let mistake): "\(mistake)"
        case .noRemote(let vault): "“\(vault)” has no remote. Give it one with: coffer remote add"
        case .hasRemote(let vault, let url):
            "“\(vault)” already has a remote, \(url). To use another one, see: coffer remote move --help"
        case .otherRemote(let vault, let url):
            """
            “\(vault)” was synced to another remote, and \(url) does not have it. To move the vault, first \
            copy everything that the other remote has of it to \(url).
            """
        case .incompleteRemote(let vault, let url):
            """
            \(url) has only a part of “\(vault)”: commits, contents, or changes of its members are missing. \
            Copy everything that the current remote has of it there while no device syncs it, and try again.
            """
        case .remoteOnly(let vault, let items, let bytes):
            """
            \(ByteText.of(bytes)) of \(items) file\(items == 1 ? "" : "s") in “\(vault)” are only at the \
            remote, and would no longer be readable. Fetch them first with --fetch, or give them up with \
            --force.
            """
        case .othersAreMembers(let vault, let count):
            """
            “\(vault)” has \(count) other member\(count == 1 ? "" : "s"), who would lose it. Remove them \
            first with coffer member remove, or delete the vault on this device only.
            """
        case .notOwner(let vault):
            """
            Only an owner may delete “\(vault)” at its remote. To delete it on this device only, omit \
            --at-remote.
            """
        case .inMount(let url, let mountPoint):
            """
            \(url) is in the vaults that are mounted at \(mountPoint): a vault cannot be synced into a vault. \
            Choose a folder outside of the mount.
            """
        case .vaultBusy(let name):
            "Another command is changing the remote of “\(name)”. Try again when it has ended."
        case .failed(let url, let error): "\(url): \(error)."
        case .notSynced(let vault, let url, let error): "“\(vault)” cannot be synced to \(url): \(error)."
        case .membersNotChanged(let vault, let url, let error):
            "The members of “\(vault)” were not changed, because \(url) failed: \(error)."
        case .noLogin(let url):
            """
            \(url) takes no credentials from Coffer: a folder needs none, SFTP uses your ssh, and “rclone:” your \
            rclone.
            """
        case .notLoggedIn(let place): "There are no credentials for \(place)."
        case .badLogin(let place, let mistake):
            "These are no credentials for \(place): \(mistake)."
        }
    }

    var exitCode: Int32 {
        switch self {
        case .remoteURL, .noLogin: 64  // EX_USAGE
        case .badLogin: 65  // EX_DATAERR
        case .failed, .notSynced, .membersNotChanged: 74  // EX_IOERR
        case .noRemote, .notLoggedIn: 66  // EX_NOINPUT
        case .hasRemote, .otherRemote, .incompleteRemote, .remoteOnly, .inMount: 73  // EX_CANTCREAT
        case .othersAreMembers, .notOwner: 77  // EX_NOPERM
        case .vaultBusy: 75  // EX_TEMPFAIL
        }
    }
}
