internal import CCofferSystem
internal import CofferSystem
internal import Glibc

/// The directory under a mount, held open so that it can be reached while the mount covers it.
///
/// While nothing is mounted on it, programs must not write into it unnoticed. Its owner therefore loses write
/// permission. For root, which needs none, it becomes immutable (chattr(1) +i) if the filesystem supports
/// that. A directory that `coffer mount` created for root loses the flag when the mount ends.
final class BareDirectory: Sendable {
    private let descriptor: Descriptor

    init(_ path: String) throws(SystemError) {
        descriptor = try Descriptor.open(path, [.readOnly, .directory])
    }

    /// Takes over a descriptor of the directory from another process.
    init(owning descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// The descriptor, for another process.
    var number: Int32 { descriptor.number }

    private static let writing: mode_t = 0o222
    /// The extended attribute of a directory that `coffer mount` created.
    private static let mark = "trusted.coffer.made"

    /// Makes it writable for its owner, which fusermount3(1) requires.
    func open() {
        setImmutable(false)
        if permissions & 0o200 == 0 { fchmod(descriptor.number, permissions | 0o200) }
    }

    private var permissions: mode_t {
        var status = stat()
        return unsafe fstat(descriptor.number, &status) == 0 ? status.st_mode & 0o7777 : 0o700
    }

    /// Makes it unwritable, as far as the underlying filesystem supports that.
    func protect() {
        fchmod(descriptor.number, permissions & ~Self.writing)
        setImmutable(true)
    }

    /// Clears the immutable flag after the mount has ended, if `coffer mount` created the directory.
    func release() {
        if unsafe coffer_has_mark(descriptor.number, Self.mark) == 1 { setImmutable(false) }
    }

    /// Marks it as created by `coffer mount`.
    func markAsMade() { _ = unsafe coffer_set_mark(descriptor.number, Self.mark) }

    /// Whether `protect` will make it immutable for longer than the mount, which it is not yet.
    ///
    /// Finds out by setting the flag and clearing it.
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
