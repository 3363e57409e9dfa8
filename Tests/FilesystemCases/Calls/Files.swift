internal import CFilesystemCalls
internal import Glibc

extension Sandbox {
    func open(_ name: String, _ flags: Int32 = O_RDWR, _ mode: mode_t = 0o644) throws -> Descriptor {
        try Sandbox.open(path: path(name), flags, mode)
    }

    static func open(path: String, _ flags: Int32, _ mode: mode_t = 0o644) throws -> Descriptor {
        Descriptor(try check("open", linux_open(AT_FDCWD, path, flags, mode)))
    }

    /// Makes a new file with the given text and closes it.
    func create(_ name: String, _ text: String = "", mode: mode_t = 0o644) throws {
        try create(name, bytes: Array(text.utf8), mode: mode)
    }

    func create(_ name: String, bytes: [UInt8], mode: mode_t = 0o644) throws {
        let file = try open(name, O_CREAT | O_EXCL | O_WRONLY, mode)
        if !bytes.isEmpty { try file.write(bytes) }
        try file.close()
    }

    func contents(_ name: String) throws -> [UInt8] {
        let file = try open(name, O_RDONLY)
        let bytes = try file.contents()
        try file.close()
        return bytes
    }

    func text(_ name: String) throws -> String {
        String(decoding: try contents(name), as: UTF8.self)
    }

    func truncate(_ name: String, _ size: Int64) throws {
        try check("truncate", Glibc.truncate(path(name), Int(size)))
    }

    func unlink(_ name: String) throws {
        try check("unlink", Glibc.unlink(path(name)))
    }

    func link(_ name: String, _ newName: String) throws {
        try check("link", Glibc.link(path(name), path(newName)))
    }

    func rename(_ name: String, _ newName: String, _ flags: UInt32 = 0) throws {
        try check("rename", linux_rename(path(name), path(newName), flags))
    }

    /// Makes a symbolic link with the text `target`, unchanged.
    func symlink(_ target: String, _ name: String) throws {
        try check("symlink", Glibc.symlink(target, path(name)))
    }

    func readLink(_ name: String, capacity: Int = 4096) throws -> String {
        let bytes = try [UInt8](unsafeUninitializedCapacity: capacity) { buffer, used in
            used = try check("readlink", linux_read_link(path(name), buffer.baseAddress, capacity))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func makeFifo(_ name: String, _ mode: mode_t = 0o644) throws {
        try check("mkfifo", Glibc.mkfifo(path(name), mode))
    }

    /// mknod(2) with the type in the mode.
    func makeNode(_ name: String, _ mode: mode_t, major: UInt32 = 0, minor: UInt32 = 0) throws {
        try check("mknod", linux_mknod(path(name), mode, major, minor))
    }
}
