internal import CFilesystemCalls
internal import Glibc

extension Sandbox {
    func makeDirectory(_ name: String, _ mode: mode_t = 0o755) throws {
        try check("mkdir", Glibc.mkdir(path(name), mode))
    }

    func removeDirectory(_ name: String) throws {
        try check("rmdir", Glibc.rmdir(path(name)))
    }

    /// The names in a directory in byte order, without dot and dot-dot.
    func names(_ name: String = "") throws -> [String] {
        let stream = try DirectoryStream(path(name))
        return try stream.rest().map(\.name).sorted {
            Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8))
        }
    }

    /// Removes a tree, whatever is in it, and ignores failures; the caller checks what is left.
    func removeTree(_ name: String) {
        guard let status = try? linkStatus(name) else { return }
        guard status.kind == S_IFDIR else {
            try? unlink(name)
            return
        }
        if geteuid() != 0 { try? changeMode(name, 0o700) }
        let entries = (try? DirectoryStream(path(name)).rest()) ?? []
        for entry in entries {
            let child = path(name) + "/"
            entry.removeFile(in: child)
            if let utf8 = entry.utf8Name, exists("\(name)/\(utf8)") { removeTree("\(name)/\(utf8)") }
        }
        try? removeDirectory(name)
    }
}

/// One entry as readdir(3) yields it.
struct DirectoryEntry {
    /// The bytes of the name, without a terminator.
    let bytes: [UInt8]
    /// DT_REG and so on, or DT_UNKNOWN.
    let type: Int32
    let inode: UInt64

    /// The name, with bytes that are not UTF-8 replaced.
    var name: String { String(decoding: bytes, as: UTF8.self) }
    var utf8Name: String? { String(validating: bytes, as: UTF8.self) }

    /// Unlinks the entry by its bytes.
    func removeFile(in directory: String) {
        let path = (Array(directory.utf8) + bytes + [0]).map { CChar(bitPattern: $0) }
        _ = Glibc.unlink(path)
    }
}

/// An open directory, read entry by entry.
final class DirectoryStream {
    private let stream: OpaquePointer

    init(_ path: String) throws {
        guard let stream = opendir(path) else { throw PosixError(call: "opendir", code: errno) }
        self.stream = stream
    }

    deinit {
        closedir(stream)
    }

    /// The next entry including dot and dot-dot; nil at the end.
    func next() throws -> DirectoryEntry? {
        errno = 0
        guard let entry = readdir(stream) else {
            guard errno == 0 else { throw PosixError(call: "readdir", code: errno) }
            return nil
        }
        return DirectoryEntry(
            bytes: bytes(of: linux_entry_name(entry)), type: linux_entry_type(entry),
            inode: linux_entry_inode(entry))
    }

    private func bytes(of name: UnsafePointer<CChar>) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
    }

    /// All further entries without dot and dot-dot.
    func rest() throws -> [DirectoryEntry] {
        var entries: [DirectoryEntry] = []
        while let entry = try next() {
            if entry.bytes != [0x2E] && entry.bytes != [0x2E, 0x2E] { entries.append(entry) }
        }
        return entries
    }

    var position: Int { telldir(stream) }

    func seek(_ position: Int) {
        seekdir(stream, position)
    }

    func rewind() {
        rewinddir(stream)
    }
}
