@testable import CofferRemote
import CofferSystem
import Foundation
import LocalServers
import RemoteConformance
import Testing

/// What is special about SFTP: keys, hosts, connections that end, a folder that is reached both ways.
@Suite(.enabled(if: SSHServer.isThere, "openssh-server is not installed"), .timeLimit(.minutes(15)))
struct SFTPTests {
    private let directory: TemporaryDirectory
    private let vault = someVault()

    init() throws { directory = try TemporaryDirectory() }

    /// What a call says that has to fail.
    private func failure<Value>(_ body: () async throws(RemoteError) -> Value) async -> RemoteError? {
        do throws(RemoteError) {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    private func failure(of remote: SFTPBackend) async -> RemoteError? {
        await failure { () async throws(RemoteError) in
            try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        }
    }

    @Test func anAliasOfTheConfigurationIsEnough() async throws {
        let server = try SFTPServers.server()
        let remote = try SFTPServers.client(
            url: "sftp:coffer-alias:\(directory.path)", program: server.client)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        #expect(try await remote.all(vault.format) == [1])
        // A path that does not begin with "/" is below the directory that the server gives.
        let name = "d\(UInt64.random(in: 0 ... .max))"
        try Directory.make("\(server.root)/\(name)")
        let below = try SFTPServers.client(url: "sftp:coffer-alias:\(name)", program: server.client)
        try await below.put(vault.format, .memory([2]), ifAbsent: true)
        #expect(try WholeFile.read("\(server.root)/\(name)/\(vault.format)", limit: 9) == [2])
    }

    /// A folder, and the same directory by SFTP, are one remote, at the same time.
    @Test(arguments: [false, true])
    func aFolderMayBeReachedEitherWay(isPoor: Bool) async throws {
        let folder = FolderBackend(path: directory.path)
        let remote = try SFTPServers.client(directory.path, isPoor: isPoor)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        try await folder.put(vault.member(1), .memory([2]), ifAbsent: true)
        try await remote.put(vault.member(2), .memory([3]), ifAbsent: true)
        #expect(try await remote.all(vault.member(1)) == [2])
        #expect(try await folder.all(vault.prefix) == remote.all(vault.prefix))
        #expect(
            await failure { () async throws(RemoteError) in
                try await remote.put(vault.member(1), .memory([9]), ifAbsent: true)
            } == .exists)
        #expect(
            await failure { () async throws(RemoteError) in
                try await folder.put(vault.member(2), .memory([9]), ifAbsent: true)
            } == .exists)
        #expect(try Directory.names(in: "\(directory.path)/\(vault.prefix).incoming") == [])
        // The names of claims are the same, so that claims exclude each other.
        let claim = SFTPClaim(on: vault.member(3), in: "i").held
        #expect(claim.hasPrefix("i/claim.\(vault.vault).members.\(vault.member(3).last)/"))
    }

    @Test func anUnknownHostIsNotTrusted() async throws {
        let server = try SSHServer()
        try WholeFile.replace(server.knownHosts, with: [])
        let remote = try SFTPServers.client(url: "sftp://127.0.0.1:\(server.port)/", program: server.client)
        let error = await failure(of: remote)
        guard case .refused(let text) = error else { return #expect(error == .refused("")) }
        #expect(text.contains("is not known") && text.contains("ssh -p \(server.port) 127.0.0.1"))
    }

    @Test func aHostThatChangedIsNotTrusted() async throws {
        let server = try SSHServer()
        let other = try SFTPServers.server()
        let key = try String(contentsOfFile: other.knownHosts, encoding: .utf8).split(separator: " ")
            .dropFirst()
        let line = "[127.0.0.1]:\(server.port) \(key.joined(separator: " "))"
        try WholeFile.replace(server.knownHosts, with: Array(line.utf8))
        let remote = try SFTPServers.client(url: "sftp://127.0.0.1:\(server.port)/", program: server.client)
        let error = await failure(of: remote)
        guard case .refused(let text) = error else { return #expect(error == .refused("")) }
        #expect(text.contains("has changed") && text.contains("ssh-keygen -R '[127.0.0.1]:\(server.port)'"))
        #expect(try WholeFile.read(server.knownHosts, limit: 9999) == Array(line.utf8))
    }

    @Test func aKeyThatTheServerDoesNotKnow() async throws {
        let program = try SFTPServers.server().stranger()
        let error = await failure(of: try SFTPServers.client(directory.path, program: program))
        guard case .refused(let text) = error else { return #expect(error == .refused("")) }
        #expect(text.contains("does not let this user in"))
    }

    /// While connecting fails, calls do not each start a program.
    @Test func attemptsGetRarer() async throws {
        let count = "\(directory.path)/count"
        guard case .sftp(let url) = try RemoteURL("sftp://127.0.0.1/x") else {
            Issue.record("not a URL of SFTP")
            return
        }
        var server = SFTPServer.ssh(url, ProcessVariables.all)
        let script = "echo x >> '\(count)'; echo 'ssh: connect to host x port 22: refused' >&2; exit 255"
        server.command = ["sh", "-c", script]
        let remote = SFTPBackend(server, root: url.path, text: "ssh")
        let start = Clock.monotonic
        for _ in 0..<20 {
            let error = await failure(of: remote)
            guard case .unreachable(let text) = error else { return #expect(error == .unreachable("")) }
            #expect(text.contains("connect to host"))
        }
        let attempts = try WholeFile.read(count, limit: 99).count / 2
        #expect(attempts <= SFTPServers.attemptsMax(since: start))
    }

    @Test func noSSH() async throws {
        let remote = try SFTPServers.client(url: "sftp://127.0.0.1/x", program: "\(directory.path)/none")
        let error = await failure(of: remote)
        guard case .unsupported(let text) = error else { return #expect(error == .unsupported("")) }
        #expect(text.contains("ssh is not installed"))
    }

    @Test func aMissingDirectoryIsUnreachable() async throws {
        let remote = try SFTPServers.client("\(directory.path)/none")
        #expect(await failure(of: remote)?.canRetryHelp == true)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/none"))
        let listed = await failure { () async throws(RemoteError) in try await remote.list(.all, after: nil) }
        guard case .unreachable = listed else { return #expect(listed == .unreachable("")) }
    }

    /// Where a vault was, nothing is made once it is gone.
    @Test func aVaultThatIsGoneIsUnreachable() async throws {
        let remote = try SFTPServers.client(directory.path)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        try await remote.put(vault.member(1), .memory([1]), ifAbsent: true)
        try FileManager.default.removeItem(atPath: "\(directory.path)/vaults")
        let put = await failure { () async throws(RemoteError) in
            try await remote.put(vault.member(2), .memory([1]), ifAbsent: true)
        }
        #expect(put?.canRetryHelp == true)
        let again = await failure { () async throws(RemoteError) in
            try await remote.put(vault.member(2), .memory([1]), ifAbsent: true)
        }
        guard case .unreachable = again else { return #expect(again == .unreachable("")) }
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/vaults"))
        let list = await failure { () async throws(RemoteError) in
            try await remote.list(vault.packs, after: nil)
        }
        guard case .unreachable = list else { return #expect(list == .unreachable("")) }
    }

    /// A connection that ends fails its calls, and later calls make another.
    ///
    /// They do so after a pause, if the old one ended before its first answer.
    @Test func connectionsThatEndAreMadeAgain() async throws {
        let server = try SSHServer()
        let remote = try SFTPServers.client(
            url: "sftp://127.0.0.1:\(server.port)\(directory.path)", program: server.client)
        let patient = RetryingRemote(remote)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        for round in 0..<4 {
            let bytes = WholeObject.bytes(UInt64(round), byteCount: 30 << 20)
            let put = Task { () -> RemoteError? in
                await failure { () async throws(RemoteError) in
                    try await remote.put(vault.member(UInt64(round)), .memory(bytes), ifAbsent: true)
                }
            }
            try await Task.sleep(for: .milliseconds(20 + 30 * round))
            server.cutConnections()
            let error = await put.value
            #expect(error == nil || error?.canRetryHelp == true)
            // No part of an object.
            let found = await failure { () async throws(RemoteError) in
                let whole = try await patient.get(vault.member(UInt64(round)), 0..<(40 << 20))
                if whole.bytes != bytes { throw .short(expected: 0, got: 0) }
            }
            #expect(found == nil || (found == .absent && error != nil))
        }
        try await patient.put(vault.member(9), .memory([9]), ifAbsent: true)
        #expect(try await remote.all(vault.member(9)) == [9])
    }

    /// Whoever reads a link reads no object, and what is in an object's place makes way.
    @Test func whatIsNoObject() async throws {
        let remote = try SFTPServers.client(directory.path)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        let members = "\(directory.path)/\(vault.prefix)members"
        try Directory.make(members)
        try WholeFile.replace("\(directory.path)/secret", with: [7])
        symlink("\(directory.path)/secret", "\(members)/\(vault.member(1).last)")
        try Directory.make("\(members)/\(vault.member(2).last)")
        for number: UInt64 in [1, 2] {
            #expect(
                await failure { () async throws(RemoteError) in
                    try await remote.get(vault.member(number), 0..<9)
                } == .absent)
        }
        #expect(try await remote.all(vault.prefix).count == 1)
        for number: UInt64 in [1, 2] {
            try await remote.put(vault.member(number), .memory([3]), ifAbsent: true)
            #expect(try await remote.all(vault.member(number)) == [3])
        }
        #expect(try WholeFile.read("\(directory.path)/secret", limit: 9) == [7])
    }

    @Test func whatWasLeftBehindLongAgoGoes() async throws {
        let remote = try SFTPServers.client(directory.path)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        let incoming = "\(directory.path)/\(vault.prefix).incoming"
        for name in ["put.old", "put.young", "claim.old", "other"] {
            try WholeFile.replace("\(incoming)/\(name)", with: [1])
            guard name != "put.young" else { continue }
            var times = [
                timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0),
            ]
            #expect(utimes("\(incoming)/\(name)", &times) == 0)
        }
        try await SFTPServers.client(directory.path).put(vault.member(1), .memory([1]), ifAbsent: true)
        #expect(try Set(Directory.names(in: incoming)) == ["put.young", "other"])
    }

    @Test func shortcomingsOfServers() async throws {
        for (isPoor, count) in [(false, 0), (true, 3)] {
            let place = try TemporaryDirectory()
            let remote = try SFTPServers.client(place.path, isPoor: isPoor)
            try await remote.put(vault.format, .memory([1]), ifAbsent: true)
            #expect(try await remote.shortcomings().count == count)
        }
    }

    @Test func emptyDirectoriesAreTidiedAway() async throws {
        let remote = try SFTPServers.client(directory.path)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        try await remote.put(vault.member(1), .memory([1]), ifAbsent: true)
        try await remote.tidy(vault.prefix)
        #expect(try await remote.all(vault.prefix).count == 2)
        try await remote.delete(vault.member(1))
        try await remote.delete(vault.format)
        try await remote.tidy(vault.prefix)
        #expect(try Directory.names(in: directory.path) == [])
    }
}
