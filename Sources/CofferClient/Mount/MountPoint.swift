internal import CCofferSystem
package import CofferSystem
internal import Glibc

/// The directory that the vaults are mounted on.
package struct MountPoint: Sendable {
    /// Its absolute path, without symbolic links.
    package let path: String
    /// Whether it is an autofs trigger, on which the kernel requests the mount at the first access.
    ///
    /// Until the mount is there, only the process group of the autofs daemon can pass; all others block.
    package let isAutomount: Bool

    /// Prepares a directory to be mounted on.
    ///
    /// Creates it if only the last component is missing, and detaches a mount whose process has died.
    ///
    /// - Returns: The mount point, and notes for the user about what was done to it.
    /// - Throws: `.mountPoint`.
    package static func prepare(_ path: String) throws(ClientError) -> (point: MountPoint, notes: [String]) {
        if let resolved = try? Directory.resolve(path), try topType(resolved) == "autofs" {
            return (MountPoint(path: resolved, isAutomount: true), [])
        }
        var notes: [String] = []
        if try mend(path) { notes.append("\(path): removed a mount whose process had died.") }
        if !Directory.exists(path) {
            do throws(SystemError) {
                try Directory.make(path)
            } catch  where error.code == ENOENT || error.code == ENOTDIR {
                throw .mount(.mountPoint(path: path, .missing))
            } catch {
                throw .system(error)
            }
            (try? BareDirectory(path))?.markAsMade()
            notes.append("\(path): created, because it did not exist.")
        }
        let resolved = try systemCalls { () throws(SystemError) in try Directory.resolve(path) }
        var status = stat()
        guard unsafe stat(resolved, &status) == 0 else { throw .mount(.mountPoint(path: path, .missing)) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .mount(.mountPoint(path: path, .notDirectory)) }
        if try isMounted(resolved) { throw .mount(.mountPoint(path: path, .inUse)) }
        if geteuid() != 0, status.st_uid != geteuid() { throw .mount(.mountPoint(path: path, .notOurs)) }
        let names = try systemCalls { () throws(SystemError) in try Directory.names(in: resolved) }
        guard names.isEmpty else { throw .mount(.mountPoint(path: path, .notEmpty)) }
        return (MountPoint(path: resolved, isAutomount: false), notes)
    }

    /// A note for the user if the next mount will make the bare mount point immutable for longer than the
    /// mount.
    package var protectionNote: String? {
        guard !isAutomount, let directory = try? BareDirectory(path), directory.becomesImmutable else {
            return nil
        }
        return """
            \(path) is immutable from now on: while nothing is mounted there, not even root can write into it. \
            Undo this with “chattr -i”; prevent it with “-o noprotect”.
            """
    }

    /// Detaches a mount whose process has died.
    ///
    /// - Returns: Whether there was one.
    private static func mend(_ path: String) throws(ClientError) -> Bool {
        guard isDead(path) else { return false }
        try systemCalls { () throws(SystemError) in try detach(path, lazily: true) }
        return true
    }

    /// Whether a path is in a mount whose process has died.
    static func isDead(_ path: String) -> Bool {
        // The kernel answers stat(2) from its cache; statvfs(3) asks the filesystem.
        var space = statvfs()
        return unsafe statvfs(path, &space) != 0 && (errno == ENOTCONN || errno == ECONNABORTED)
    }

    // MARK: Mounted filesystems

    /// Whether anything is mounted at exactly this path.
    package static func isMounted(_ path: String) throws(ClientError) -> Bool {
        try topType(path) != nil
    }

    /// The type of the topmost mount at exactly this path; nil if nothing is mounted there.
    private static func topType(_ path: String) throws(ClientError) -> String? {
        try table().mounts.last { $0.path == path }?.type
    }

    /// The topmost mount of vaults at exactly this path.
    static func mount(of path: String) throws(ClientError) -> MountTable.Mount? {
        try table().vaults(at: path)
    }

    private static func table() throws(ClientError) -> MountTable {
        try systemCalls { () throws(SystemError) in try MountTable.read() }
    }

    /// Unmounts with umount2(2), or with fusermount3(1) for users other than root.
    ///
    /// - Parameter lazily: Whether to detach the mount now, and let it end with its last user.
    /// - Throws: EBUSY if it is in use; for users other than root, on any failure of fusermount3.
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

    /// Flushes the kernel's cached writes of a mount with syncfs(2).
    ///
    /// - Returns: Why something could not be written since this was last asked for; nil if all was.
    @discardableResult
    package static func sync(_ path: String) -> SystemError? {
        do throws(SystemError) {
            let directory = try Descriptor.open(path, [.readOnly, .directory])
            let code = coffer_sync_file_system(directory.number)
            return code == 0 ? nil : SystemError("syncfs", code: -code, on: path)
        } catch {
            return error
        }
    }
}
