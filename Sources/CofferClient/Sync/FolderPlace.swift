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
        var status = stat()
        while unsafe stat(path, &status) != 0 {
            guard errno == ENOENT || errno == ENOTDIR, path != "/" else { return nil }
            path = Directory.parent(of: path)
        }
        // The layout of glibc's dev_t; see makedev(3), whose macros Swift cannot import.
        let device = UInt64(status.st_dev)
        let major = device >> 8 & 0xfff | device >> 32 & 0xffff_f000
        let minor = device & 0xff | device >> 12 & 0xffff_ff00
        return "\(major):\(minor)"
    }
}
