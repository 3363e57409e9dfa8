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
    /// Does nothing if the process lives, or has ended. The path in the note is looked up in the mount
    /// namespace of a thread that is left, since another mount may have the same path here.
    static func abort(_ note: LockNote) {
        guard !note.mountPoint.isEmpty, ProcessState.isEnding(note.process),
            let device = device(of: note)
        else { return }
        let connection = device.split(separator: ":").last ?? ""
        if let file = try? Descriptor.open("/sys/fs/fuse/connections/\(connection)/abort", [.writeOnly]) {
            _ = unsafe write(file.number, "1", 1)
        } else if geteuid() == 0, let here = try? MountPoint.mount(of: note.mountPoint), here.device == device
        {
            // The filesystem of connections is not mounted. The mount itself stays if programs use it.
            _ = unsafe umount2(note.mountPoint, Int32(MNT_FORCE))
        }
    }

    /// The device number of the mount, as a thread of the process sees it; nil if no thread is left.
    private static func device(of note: LockNote) -> String? {
        let threads = (try? Directory.names(in: "/proc/\(note.process)/task")) ?? []
        for thread in threads.compactMap({ Int32($0) }) {
            // The main thread of a process that is ending has no table any more.
            guard let table = try? MountTable.read(of: thread) else { continue }
            if let mount = table.vaults(at: note.mountPoint) { return mount.device }
        }
        return nil
    }
}
