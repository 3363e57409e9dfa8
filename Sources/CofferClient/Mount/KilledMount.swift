internal import CofferSystem
internal import Glibc

/// The mount of a process that was killed and cannot end.
///
/// A thread of the process may be waiting, uninterruptibly, for a page that a request keeps locked, while it
/// tells the kernel about a change. If the process is killed at that moment, nobody answers the request, and
/// the process keeps its files, the profile's lock among them. The kernel lets go once the connection is
/// aborted.
enum KilledMount {
    /// Aborts the connection of a killed process to the kernel: all requests of programs fail.
    ///
    /// - Parameter note: That of the process, which must still hold the profile's lock.
    static func abort(_ note: LockNote) {
        guard !note.mountPoint.isEmpty, ProcessState.isEnding(note.process),
            let mount = try? MountPoint.mount(of: note.mountPoint)
        else { return }
        let connection = mount.device.split(separator: ":").last ?? ""
        if let file = try? Descriptor.open("/sys/fs/fuse/connections/\(connection)/abort", [.writeOnly]) {
            _ = unsafe write(file.number, "1", 1)
        } else if geteuid() == 0 {
            // Where that filesystem is not mounted. The mount itself stays if programs use it.
            _ = unsafe umount2(note.mountPoint, Int32(MNT_FORCE))
        }
    }
}
