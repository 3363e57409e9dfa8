internal import CofferRemote
internal import CofferSystem
internal import Glibc

/// Where the folder of a remote lies.
enum FolderPlace {
    /// Refuses a folder in a mount of vaults: a vault would be synced into itself, or through another one.
    ///
    /// Compares device numbers, so that symbolic links and bind mounts do not hide the mount.
    ///
    /// - Throws: `.remoteSetting(.inMount)`.
    static func refuseMount(_ url: RemoteURL) throws(ClientError) {
        guard case .folder(let path) = url, let device = device(of: path) else { return }
        let mounts = (try? MountTable.read())?.mounts ?? []
        guard let mount = mounts.last(where: { $0.device == device && $0.type == MountTable.vaultsType })
        else { return }
        throw .remoteSetting(.inMount(url: url.text, mountPoint: mount.path))
    }

    /// The device number of a directory, or of the first one above it that exists, as in mountinfo.
    private static func device(of path: String) -> String? {
        var path = path
        while true {
            do throws(SystemError) { return try FileIdentity(of: path, followsLink: true).deviceText } catch {
                guard error.code == ENOENT || error.code == ENOTDIR, path != "/" else { return nil }
                path = Directory.parent(of: path)
            }
        }
    }
}
