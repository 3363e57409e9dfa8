internal import CCofferSystem
package import CofferSystem
internal import Glibc

/// The directory that the vaults are mounted on.
package struct MountPoint: Sendable {
    /// Absolute, without symbolic links.
    package let path: String
    /// Whether the kernel waits here for somebody to come by, to have the vaults mounted then (autofs).
    ///
    /// While it does, only the process group of autofs's daemon comes past. All others wait for the mount.
    package let isAutomount: Bool

    /// A directory that is ready to be mounted on; made if only it is missing, mended if a mount died on it.
    ///
    /// - Returns: The mount point, and what was done to it, for the user to know.
    /// - Throws: `.mountPoint`.
    package static func prepare(_ path: String) throws(ProfileError) -> (point: MountPoint, notes: [String]) {
        if let resolved = try? Directory.resolve(path), try topType(resolved) == "autofs" {
            return (MountPoint(path: resolved, isAutomount: true), [])
        }
        var notes: [String] = []
        if try mend(path) { notes.append("\(path): a mount that had died here was removed.") }
        if !Directory.exists(path) {
            do throws(SystemError) {
                try Directory.make(path)
            } catch  where error.code == ENOENT || error.code == ENOTDIR {
                throw .mountPoint(path: path, .missing)
            } catch {
                throw .system(error)
            }
            (try? BareDirectory(path))?.markAsMade()
            notes.append("\(path): made, as it did not exist.")
        }
        let resolved = try systemCalls { () throws(SystemError) in try Directory.resolve(path) }
        var status = stat()
        guard unsafe stat(resolved, &status) == 0 else { throw .mountPoint(path: path, .missing) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .mountPoint(path: path, .notDirectory) }
        if try isMounted(resolved) { throw .mountPoint(path: path, .inUse) }
        if geteuid() != 0, status.st_uid != geteuid() { throw .mountPoint(path: path, .notOurs) }
        let names = try systemCalls { () throws(SystemError) in try Directory.names(in: resolved) }
        guard names.isEmpty else { throw .mountPoint(path: path, .notEmpty) }
        return (MountPoint(path: resolved, isAutomount: false), notes)
    }

    /// What a user should know of the protection of the bare mount point, if it begins with the mount to come and
    /// stays afterwards.
    package var protectionNote: String? {
        guard !isAutomount, let directory = try? BareDirectory(path), directory.becomesImmutable else {
            return nil
        }
        return """
            \(path) is immutable from now on: while nothing is mounted there, not even root can write into it. \
            “chattr -i” undoes that, “-o noprotect” leaves it out.
            """
    }

    /// Takes away a mount whose process is gone.
    ///
    /// - Returns: Whether there was one.
    private static func mend(_ path: String) throws(ProfileError) -> Bool {
        // The kernel answers stat(2) from what it remembers of the dead mount; statvfs(3) asks.
        var space = statvfs()
        guard unsafe statvfs(path, &space) != 0, errno == ENOTCONN || errno == ECONNABORTED else {
            return false
        }
        try systemCalls { () throws(SystemError) in try detach(path, lazily: true) }
        return true
    }

    // MARK: Mounted file systems

    /// Whether anything is mounted at exactly this path.
    package static func isMounted(_ path: String) throws(ProfileError) -> Bool {
        try topType(path) != nil
    }

    /// The type of what is mounted at exactly this path, the last of several.
    private static func topType(_ path: String) throws(ProfileError) -> String? {
        try mounts().last { $0.path == path }?.type
    }

    /// Whether vaults are mounted at exactly this path.
    package static func hasVaults(_ path: String) throws(ProfileError) -> Bool {
        try mounts().contains { $0.path == path && $0.type == "fuse.coffer" }
    }

    /// The mount of vaults at exactly this path, the last of several.
    static func mount(of path: String) throws(ProfileError) -> MountTable.Mount? {
        try mounts().last { $0.path == path && $0.type == "fuse.coffer" }
    }

    private static func mounts() throws(ProfileError) -> [MountTable.Mount] {
        try systemCalls { () throws(SystemError) in try MountTable.read().mounts }
    }

    /// Unmounts.
    ///
    /// As umount2(2), or by fusermount3(1) for users other than root.
    ///
    /// - Parameter lazily: Whether to take the mount away from its place now, and let it end when nobody
    ///   uses it any more.
    /// - Throws: EBUSY where it is in use.
    package static func detach(_ path: String, lazily: Bool) throws(SystemError) {
        if geteuid() == 0 {
            guard unsafe umount2(path, lazily ? Int32(MNT_DETACH) : 0) == 0 else {
                throw SystemError("umount", code: errno, on: path)
            }
            return
        }
        let status = try ChildProcess.run(
            "fusermount3", lazily ? ["-uzq", "--", path] : ["-uq", "--", path])
        guard status == 0 else { throw SystemError("umount", code: EBUSY, on: path) }
    }

    /// Writes what the kernel has cached for a mount.
    ///
    /// As syncfs(2).
    package static func sync(_ path: String) {
        guard let directory = try? Descriptor.open(path, [.readOnly, .directory]) else { return }
        _ = coffer_sync_file_system(directory.number)
    }
}
