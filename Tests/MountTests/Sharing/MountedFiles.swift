import CFilesystemCalls
import Foundation
import MergeCases

/// A directory in a user's mount, in which a merge case runs.
final class MountedFiles: VaultFiles {
    let name: String
    let label: String
    private let directory: String

    init(_ name: String, label: String, in directory: String) {
        self.name = name
        self.label = label
        self.directory = directory
    }

    private func full(_ path: String) -> String { "\(directory)/\(path)" }

    func write(_ text: String, to path: String) throws { try Files.write(text, to: full(path)) }
    func read(_ path: String) throws -> String { try Files.text(full(path)) }
    func makeDirectory(_ path: String) throws { try Files.makeDirectory(full(path)) }
    func remove(_ path: String) throws { try Files.check(Glibc.remove(full(path)), path) }
    func move(_ path: String, to other: String) throws { try Files.move(full(path), to: full(other)) }
    func link(_ path: String, as other: String) throws {
        try Files.check(Glibc.link(full(path), full(other)), other)
    }
    func setMode(_ mode: UInt16, of path: String) throws {
        try Files.check(chmod(full(path), mode_t(mode)), path)
    }
    func mode(of path: String) throws -> UInt16 { UInt16(try status(path).st_mode & 0o7777) }

    func setAttribute(_ name: String, to value: String, of path: String) throws {
        try Files.check(linux_set_attribute(full(path), name, value, value.utf8.count, 0), path)
    }

    func attribute(_ name: String, of path: String) throws -> String? {
        var bytes = [UInt8](repeating: 0, count: 1000)
        let count = linux_get_attribute(full(path), name, &bytes, bytes.count)
        if count < 0, errno == ENODATA { return nil }
        try Files.check(count, path)
        return String(decoding: bytes.prefix(Int(count)), as: UTF8.self)
    }

    func names(in path: String) throws -> [String] {
        try Files.names(full(path)).map { name in
            let isDirectory = try status(path + name).st_mode & S_IFMT == S_IFDIR
            return isDirectory ? "\(name)/" : name
        }
    }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        try Files.check(lstat(full(path), &status), path)
        return status
    }
}
