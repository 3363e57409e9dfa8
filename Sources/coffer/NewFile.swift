internal import CofferClient
internal import CofferSystem
internal import Glibc

/// A file that a command writes: it has its name only once it is whole, and nobody but this user can read it.
struct NewFile: ~Copyable {
    /// The file while it is written, in the directory of `path`.
    let temporary: String
    let descriptor: Descriptor
    private let path: String
    private let replaces: Bool

    /// - Parameter replaces: Whether a file that has the name goes.
    /// - Throws: `.fileExists`, `.notFile`, `.inVault`.
    init(_ path: String, replaces: Bool, at location: ProfileLocation) throws {
        try Self.check(path, replaces, location)
        let number = UInt64.random(in: .min ... .max)
        let temporary = "\(Directory.parent(of: path))/.coffer-\(String(number, radix: 16))"
        let new = try Descriptor.open(temporary, [.writeOnly, .create, .exclusive, .noFollow])
        self.path = path
        self.replaces = replaces
        self.temporary = temporary
        descriptor = new
    }

    static func check(_ path: String, _ replaces: Bool, _ location: ProfileLocation) throws {
        try BackupFile.checkPlace(path, at: location) { .export(.inVault(path: $0)) }
        guard Directory.exists(path) else { return }
        guard try FileStatus(of: path).kind == .regular else {
            throw ClientError.export(.notFile(path: path))
        }
        if !replaces { throw ClientError.export(.fileExists(path: path)) }
    }

    /// Syncs the file, and gives it its name.
    ///
    /// - Throws: As `init`: the place may have changed since.
    func finish(at location: ProfileLocation) throws {
        guard fsync(descriptor.number) == 0 else { throw SystemError("fsync", code: errno, on: path) }
        try Self.check(path, replaces, location)
        do throws(SystemError) {
            try replaces
                ? WholeFile.move(temporary, to: path) : WholeFile.moveExclusively(temporary, to: path)
        } catch {
            if error.code == EEXIST { throw ClientError.export(.fileExists(path: path)) }
            throw error
        }
    }

    /// Removes what was written.
    func abandon() { try? Directory.removeFile(temporary) }
}
