internal import CCofferSystem
internal import Glibc

/// An open file descriptor; closed when it goes away.
package struct Descriptor: ~Copyable, Sendable {
    /// The number that the kernel knows it by; valid as long as this value lives.
    package let number: Int32

    /// Takes over a descriptor that somebody else opened.
    package init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// How a file is opened; names as in open(2).
    ///
    /// All are opened with O_CLOEXEC.
    package struct Options: OptionSet, Sendable {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }
        /// O_RDONLY, which is 0: for reading, unless another option says more.
        package static let readOnly = Options([])
        /// O_RDWR: for reading and writing.
        package static let readWrite = Options(rawValue: O_RDWR)
        /// O_WRONLY: for writing.
        package static let writeOnly = Options(rawValue: O_WRONLY)
        /// O_CREAT: a missing file is made.
        package static let create = Options(rawValue: O_CREAT)
        /// O_EXCL: with `create`, a file that is there is an error (EEXIST).
        package static let exclusive = Options(rawValue: O_EXCL)
        /// O_TRUNC: a file that is there is emptied.
        package static let truncate = Options(rawValue: O_TRUNC)
        /// O_APPEND: each write goes to the end.
        package static let append = Options(rawValue: O_APPEND)
        /// O_DIRECTORY: anything but a directory is an error (ENOTDIR).
        package static let directory = Options(rawValue: O_DIRECTORY)
        /// O_NOFOLLOW: a symbolic link at the end of the path is an error (ELOOP).
        package static let noFollow = Options(rawValue: O_NOFOLLOW)
        /// O_DIRECT: past the page cache; memory, offsets and counts must be aligned.
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

    /// Gives the descriptor away without closing it.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}
