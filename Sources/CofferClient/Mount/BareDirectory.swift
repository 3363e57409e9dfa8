internal import CCofferSystem
internal import CofferSystem
internal import Glibc

/// The directory below a mount, held open so that it can be reached while the mount covers it.
///
/// While nothing is mounted on it, programs must not write into it unnoticed: its owner loses the right to
/// write, and for root, who needs none, it becomes immutable (chattr(1) +i) where the file system knows that. One that
/// `coffer mount` made for root is immutable below the mount only: root finds it as any other afterwards.
final class BareDirectory: Sendable {
    private let descriptor: Descriptor

    init(_ path: String) throws(SystemError) {
        descriptor = try Descriptor.open(path, [.readOnly, .directory])
    }

    private static let writing: mode_t = 0o222
    /// The extended attribute of a directory that `coffer mount` made.
    private static let mark = "trusted.coffer.made"

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

    /// Lets root have it back if it was made for a mount, which is gone.
    func release() {
        if unsafe coffer_has_mark(descriptor.number, Self.mark) == 1 { setImmutable(false) }
    }

    /// Notes that it was made for a mount.
    func markAsMade() { _ = unsafe coffer_set_mark(descriptor.number, Self.mark) }

    /// Whether protecting it makes it immutable, and that stays, which it is not yet.
    var becomesImmutable: Bool {
        guard geteuid() == 0, coffer_is_immutable(descriptor.number) == 0,
            unsafe coffer_has_mark(descriptor.number, Self.mark) == 0,
            coffer_set_immutable(descriptor.number, 1) == 0
        else { return false }
        setImmutable(false)
        return true
    }

    private func setImmutable(_ immutable: Bool) {
        guard geteuid() == 0 else { return }
        _ = coffer_set_immutable(descriptor.number, immutable ? 1 : 0)
    }
}
