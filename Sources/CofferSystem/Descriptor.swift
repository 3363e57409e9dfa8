internal import CCofferSystem
internal import Glibc

/// An open file descriptor, closed when this value is destroyed.
package struct Descriptor: ~Copyable, Sendable {
    /// The kernel's number for it; valid as long as this value lives.
    package let number: Int32

    /// Takes ownership of a descriptor that was opened elsewhere.
    package init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// How to open a file; names as in open(2).
    ///
    /// O_CLOEXEC is always set.
    package struct Options: OptionSet, Sendable {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }
        /// O_RDONLY, which is 0: for reading, unless combined with another access mode.
        package static let readOnly = Options([])
        /// O_RDWR: for reading and writing.
        package static let readWrite = Options(rawValue: O_RDWR)
        /// O_WRONLY: for writing.
        package static let writeOnly = Options(rawValue: O_WRONLY)
        /// O_CREAT: creates a missing file.
        package static let create = Options(rawValue: O_CREAT)
        /// O_EXCL: with `create`, an existing file is an error (EEXIST).
        package static let exclusive = Options(rawValue: O_EXCL)
        /// O_TRUNC: empties an existing file.
        package static let truncate = Options(rawValue: O_TRUNC)
        /// O_APPEND: each write appends to the file.
        package static let append = Options(rawValue: O_APPEND)
        /// O_DIRECTORY: anything except a directory is an error (ENOTDIR).
        package static let directory = Options(rawValue: O_DIRECTORY)
        /// O_NOFOLLOW: a symbolic link as the last component is an error (ELOOP).
        package static let noFollow = Options(rawValue: O_NOFOLLOW)
        /// O_DIRECT: bypasses the page cache; memory, offsets, and counts must be aligned.
        package static let direct = Options(rawValue: coffer_O_DIRECT)
    }

    /// Opens `path`.
    ///
    /// The corresponding C function is open(2).
    ///
    /// - Throws: `SystemError` with the errno of open(2) and `path` as subject.
    package static func open(
        _ path: String, _ options: Options, mode: UInt32 = 0o600
    ) throws(SystemError) -> Descriptor {
        let number = try checkingNegative("open", on: path) {
            unsafe coffer_open_at(AT_FDCWD, path, options.rawValue | O_CLOEXEC, mode)
        }
        return Descriptor(owning: number)
    }

    /// Makes another descriptor of the same open file, above those of the standard streams.
    ///
    /// The corresponding C function is fcntl(2) with F_DUPFD_CLOEXEC.
    package static func copy(of number: Int32) throws(SystemError) -> Descriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw .last("dup") }
        return Descriptor(owning: copy)
    }

    /// Gives up ownership of the descriptor without closing it.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}
