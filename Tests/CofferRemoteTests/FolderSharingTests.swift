import CofferRemote
import CofferSystem
import Foundation
import RemoteConformance
import Testing

/// A folder that several users of one machine, or of a server, share.
@Suite struct FolderSharingTests {
    private let directory: TemporaryDirectory
    private let vault = someVault()
    private var path: String { directory.path }

    init() throws { directory = try TemporaryDirectory() }

    private func client() -> FolderBackend { FolderBackend(path: path) }

    /// The group of the folder: if possible, another group than this user's.
    private func share(_ permissions: mode_t) throws -> gid_t {
        if geteuid() == 0 { try #require(chown(path, 0, 4711) == 0) }
        // After chown(2), which clears the bit for the group.
        try #require(chmod(path, permissions) == 0)
        return try status(path).st_gid
    }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status
    }

    private func fill(_ remote: FolderBackend) async throws {
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        try await remote.put(vault.member(0), .memory([1]), ifAbsent: true)
        try await remote.put(vault.transientKey(vault.vault), .memory([2]), ifAbsent: false)
    }

    /// The content of the folder, without the folder itself.
    private func all() throws -> [(path: String, status: stat)] {
        try FileManager.default.subpathsOfDirectory(atPath: path).map { name in
            (name, try status("\(path)/\(name)"))
        }
    }

    private func expectShared(by group: gid_t, _ bits: mode_t) throws {
        let all = try all()
        #expect(all.contains { $0.path.hasSuffix(".incoming") } && all.count > 8)
        for (name, status) in all {
            #expect(status.st_gid == group, "\(name)")
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            let wanted = isDirectory ? bits | 0o2000 : bits & 0o044
            #expect(status.st_mode & wanted == wanted, "\(name) \(String(status.st_mode, radix: 8))")
        }
    }

    @Test(arguments: [0o2770, 0o770, 0o2775, 0o777])
    func newFilesGetThePermissionsOfTheFolder(permissions: mode_t) async throws {
        let group = try share(permissions)
        try await fill(client())
        try expectShared(by: group, permissions & 0o077)
    }

    /// A vault that was there before its folder was opened to others.
    @Test func privateDirectoriesAreOpenedLater() async throws {
        try await fill(client())
        let group = try share(0o2770)
        try await client().put(vault.member(1), .memory([1]), ifAbsent: true)
        for name in ["", "/vaults", "/\(vault.prefix)", "/\(vault.members)", "/\(vault.prefix).incoming"] {
            let found = try status(path + name)
            #expect(found.st_gid == group && found.st_mode & 0o2070 == 0o2070, "\(name)")
        }
    }

    @Test func aPrivateFolderStaysPrivate() async throws {
        #expect(chmod(path, 0o700) == 0)
        try await fill(client())
        // The permissions that other programs give files, by the umask of this process.
        try Directory.make("\(path)/plain", mode: 0o777)
        let plain = try status("\(path)/plain").st_mode & 0o7777
        for (name, status) in try all() where status.st_mode & S_IFMT == S_IFDIR {
            #expect(status.st_mode & 0o7777 == plain, "\(name)")
        }
    }

    @Test func deletionLeavesNothing() async throws {
        let remote = client()
        try await fill(remote)
        // Objects of another vault stay.
        let other = someVault()
        try await remote.put(other.format, .memory([1]), ifAbsent: true)
        for entry in try await remote.list(vault.prefix, after: nil).entries where entry.name != vault.format
        {
            try await remote.delete(entry.name)
        }
        try await remote.delete(vault.format)
        try await remote.tidy(vault.prefix)
        #expect(try Directory.names(in: "\(path)/vaults") == ["\(other.vault)"])
        try await remote.delete(other.format)
        try await remote.tidy(other.prefix)
        #expect(try Directory.names(in: path) == [])
        // The first one who does it has done it for all.
        try await remote.tidy(other.prefix)
    }

    /// Nobody removes a directory that contains anything, an object or not.
    @Test func remainingFilesKeepTheirDirectory() async throws {
        let remote = client()
        try await fill(remote)
        try await remote.tidy(vault.prefix)
        #expect(try await remote.all(vault.prefix).count == 3)
    }

    // MARK: File systems without links

    private func withoutLinks(_ code: Int32) -> FolderBackend {
        var calls = FolderCalls()
        calls.link = { (_, _, _, name) throws(SystemError) in
            throw SystemError("link", code: code, on: name)
        }
        return FolderBackend(path: path, publishing: FolderPublishing.allCases, calls: calls)
    }

    /// rclone's mounts fail with EIO, and others with other errors.
    @Test(arguments: [EIO, EREMOTEIO, EPERM, ENOSYS, EOPNOTSUPP, EMLINK])
    func foldersWithoutLinks(code: Int32) async throws {
        let remote = withoutLinks(code)
        try await fill(remote)
        await #expect(throws: RemoteError.exists) {
            try await remote.put(vault.member(0), .memory([9]), ifAbsent: true)
        }
        #expect(try await remote.all(vault.member(0)) == [1])
        #expect(try Directory.names(in: "\(path)/\(vault.prefix).incoming") == [])
    }

    /// A disk that fails once still has links; another way of naming could replace existing objects.
    @Test func aFailureDoesNotMeanThatLinksAreMissing() async throws {
        try await fill(client())
        let target = vault.member(1).last
        var calls = FolderCalls()
        calls.link = { (from, name, target_, newName) throws(SystemError) in
            if newName == target { throw SystemError("link", code: EIO, on: newName) }
            try from.link(name, to: target_, newName)
        }
        let remote = FolderBackend(path: path, publishing: FolderPublishing.allCases, calls: calls)
        do throws(RemoteError) {
            try await remote.put(vault.member(1), .memory([1]), ifAbsent: true)
            Issue.record("it was put in another way")
        } catch {
            guard case .failed = error else { throw error }
        }
        #expect(try Directory.names(in: "\(path)/\(vault.prefix).incoming") == [])
        await #expect(throws: RemoteError.absent) { try await client().get(vault.member(1), 0..<1) }
    }
}
