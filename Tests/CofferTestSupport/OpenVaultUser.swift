internal import CofferFormat
internal import CofferSystem
package import CofferVault
package import MergeCases

/// A user of a vault that is open in this process.
package protocol OpenVaultUser: VaultFiles {
    /// The vault.
    var vault: Vault { get }

    /// Makes a commit of the change, if each change becomes one.
    func collect() throws
}

extension OpenVaultUser {
    /// The directory of a path, and the name in it.
    private func split(_ path: String) throws -> (parent: Int64, name: [UInt8]) {
        let parts = path.split(separator: "/")
        var parent = Vault.rootNumber
        for part in parts.dropLast() { parent = try vault.lookup(Array(part.utf8), in: parent).number }
        return (parent, Array((parts.last ?? "").utf8))
    }

    package func number(_ path: String) throws -> Int64 {
        if path.isEmpty { return Vault.rootNumber }
        let (parent, name) = try split(path)
        return try vault.lookup(name, in: parent).number
    }

    package func make(_ path: String, mode: UInt32, target: String = "") throws {
        let (parent, name) = try split(path)
        let new = Vault.NewItem(mode: mode, target: Array(target.utf8))
        _ = try vault.create(new, named: name, in: parent, by: TestVault.owner)
        try collect()
    }

    package func makeDirectory(_ path: String) throws { try make(path, mode: 0o040_755) }

    package func write(_ text: String, to path: String) throws { try write(Array(text.utf8), to: path) }

    /// Writes a whole file, and makes it if it does not exist.
    package func write(_ bytes: [UInt8], to path: String) throws {
        do {
            _ = try number(path)
        } catch {
            guard case FileSystemError.notFound = error else { throw error }
            try make(path, mode: 0o100_644)
        }
        try truncate(path, to: 0)
        try put(bytes, to: path, at: 0)
        try collect()
    }

    package func truncate(_ path: String, to size: Int64) throws {
        var changes = AttributeChanges()
        changes.size = size
        _ = try vault.setAttributes(of: number(path), changes)
    }

    package func put(_ bytes: [UInt8], to path: String, at offset: Int64) throws {
        var rest = bytes[...]
        var offset = offset
        while !rest.isEmpty {
            let part = Array(rest.prefix(1 << 20))
            rest = rest.dropFirst(part.count)
            try vault.contents.write(
                part.span.bytes, to: number(path), at: offset, touches: true, dropsPrivileges: false)
            offset += Int64(part.count)
        }
    }

    package func bytes(_ path: String) throws -> [UInt8] {
        let number = try number(path)
        let size = Int(try vault.attributes(of: number).size)
        let buffer = AlignedBuffer(count: max(size, 1))
        let done = try vault.contents.read(number, at: 0, count: size, into: buffer)
        return buffer.withBytes(0..<done) { $0.array }
    }

    package func read(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

    package func remove(_ path: String) throws {
        let (parent, name) = try split(path)
        if try vault.attributes(of: number(path)).type == .directory {
            vault.release(try vault.removeDirectory(name, in: parent))
        } else {
            vault.release(try vault.unlink(name, in: parent).number)
        }
        try collect()
    }

    package func move(_ path: String, to other: String) throws {
        let (parent, name) = try split(path)
        let (newParent, newName) = try split(other)
        if let gone = try vault.rename(name, in: parent, to: newName, in: newParent, .replace) {
            vault.release(gone)
        }
        try collect()
    }

    package func link(_ path: String, as other: String) throws {
        let (parent, name) = try split(other)
        _ = try vault.link(try number(path), as: name, in: parent)
        try collect()
    }

    package func setMode(_ mode: UInt16, of path: String) throws {
        var changes = AttributeChanges()
        changes.mode = UInt32(mode)
        _ = try vault.setAttributes(of: try number(path), changes)
        try collect()
    }

    package func mode(of path: String) throws -> UInt16 {
        UInt16(try vault.attributes(of: try number(path)).mode & 0o7777)
    }

    package func setAttribute(_ name: String, to value: String, of path: String) throws {
        try vault.setExtendedAttribute(
            Array(name.utf8), of: try number(path), to: Array(value.utf8), .any)
        try collect()
    }

    package func attribute(_ name: String, of path: String) throws -> String? {
        do {
            let value = try vault.extendedAttribute(Array(name.utf8), of: try number(path))
            return String(decoding: value, as: UTF8.self)
        } catch {
            guard case FileSystemError.attributeNotFound = error else { throw error }
            return nil
        }
    }

    package func names(in path: String) throws -> [String] {
        try vault.readDirectory(try number(path), after: 2, limit: .max - 1, attributes: false).map { entry in
            String(decoding: entry.name, as: UTF8.self)
                + (entry.type == FileType.directory.rawValue ? "/" : "")
        }
    }
}
