internal import CCofferSystem
internal import CofferSystem
internal import Glibc

/// The directory below a mount, held open so that it can be reached while the mount covers it.
///
/// While nothing is mounted on it, programs must not write into it unnoticed: its owner loses the right to
/// write, and for root, who needs none, it becomes immutable (chattr(1) +i) where the file system knows that.
struct BareDirectory: ~Copyable {
    private let descriptor: Descriptor

    init(_ point: MountPoint) throws(SystemError) {
        descriptor = try Descriptor.open(point.path, [.readOnly, .directory])
    }

    private static let writing: mode_t = 0o222

    /// Makes it writable for its owner, as fusermount3(1) wants it.
    func open() {
        setImmutable(false)
        if permissions & 0o200 == 0 { fchmod(descriptor.number, permissions | 0o200) }
    }

    private var permissions: mode_t {
        var status = stat()
        return unsafe fstat(descriptor.number, &status) == 0 ? status.st_mode & 0o7777 : 0o700
    }

    /// Makes it unwritable.
    ///
    /// What the file system under it does not know is left out.
    func protect() {
        fchmod(descriptor.number, permissions & ~Self.writing)
        setImmutable(true)
    }

    private func setImmutable(_ immutable: Bool) {
        guard geteuid() == 0 else { return }
        _ = coffer_set_immutable(descriptor.number, immutable ? 1 : 0)
    }
}
