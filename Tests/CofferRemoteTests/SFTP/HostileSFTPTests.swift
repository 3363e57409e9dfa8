@testable import CofferRemote
import CofferSystem
import Foundation
import LocalServers
import RemoteConformance
import Testing

/// Servers that break the protocol, or lie.
@Suite(.timeLimit(.minutes(15)))
struct HostileSFTPTests {
    private let directory: TemporaryDirectory
    private let vault = someVault()

    init() throws { directory = try TemporaryDirectory() }

    private func client(_ mode: String, patience: Int64 = 20) -> SFTPBackend {
        var server = SFTPServer(
            command: ["python3", LocalServer.script("sftp.py"), mode, directory.path],
            environment: ProcessVariables.all, name: "fake", window: 64, patience: patience,
            explain: { .unreachable($0.last ?? "ended") }, missing: .unsupported("python3 is not installed"))
        (server.nameCountMax, server.directoryCountMax) = (100_000, 500)
        return SFTPBackend(server, root: directory.path, text: "fake")
    }

    private func failure<Value>(_ body: () async throws(RemoteError) -> Value) async -> RemoteError? {
        do throws(RemoteError) {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    /// A vault with some objects.
    private func makeVault() async throws {
        let folder = FolderBackend(path: directory.path)
        try await folder.put(vault.format, .memory([1]), ifAbsent: true)
        try await folder.put(vault.member(1), .memory([1, 2, 3]), ifAbsent: true)
        try await folder.put(
            vault.member(2), .memory(WholeObject.bytes(2, byteCount: 3 << 20)), ifAbsent: true)
    }

    @Test(arguments: ["honest", "thrifty", "noisy", "linking", "copying", "joining", "not-exclusive"])
    func whatIsOddIsNotAlwaysWrong(_ mode: String) async throws {
        let remote = client(mode)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        let bytes = WholeObject.bytes(3, byteCount: 300_000)
        try await remote.put(vault.member(3), .memory(bytes), ifAbsent: true)
        #expect(try await remote.all(vault.member(3)) == bytes)
        #expect(
            await failure { () async throws(RemoteError) in
                try await remote.put(vault.member(3), .memory([9]), ifAbsent: true)
            } == .exists)
        try await remote.put(vault.member(3), .memory([4]), ifAbsent: false)
        #expect(try await remote.all(vault.member(3)) == [4])
        #expect(try await remote.all(vault.prefix).count == 2)
        #expect(try Directory.names(in: "\(directory.path)/\(vault.prefix).incoming") == [])
    }

    /// What a server says that it can do is tried before it is trusted.
    @Test(arguments: [
        ("linking", 0, "link"), ("copying", 1, "copy"), ("joining", 2, "none"), ("honest", 1, "pretend"),
    ])
    func linksAndClaimsAreTriedFirst(_ mode: String, _ expected: Int, _ why: String) async throws {
        let remote = client(mode)
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        let text = try await remote.shortcomings().joined()
        #expect(text.contains("makes no links") == (expected == 1), "\(why)")
        #expect(text.contains("only if its name is free") == (expected == 2), "\(why)")
    }

    /// Nothing that breaks the protocol is believed, or waited for.
    @Test(arguments: [
        "oversized", "large-status", "wrong-number", "twice", "wrong-kind", "unknown-kind", "cut",
        "long-handle",
        "old", "talkative", "complaining", "rude",
    ])
    func whatBreaksTheProtocol(_ mode: String) async throws {
        try await makeVault()
        let remote = client(mode)
        let errors = [
            await failure { () async throws(RemoteError) in try await remote.get(vault.member(1), 0..<9) },
            await failure { () async throws(RemoteError) in try await remote.list(vault.prefix, after: nil) },
            await failure { () async throws(RemoteError) in
                try await remote.put(vault.member(5), .memory([1]), ifAbsent: true)
            },
        ]
        for error in errors {
            let error = try #require(error)
            #expect(error != .absent && error != .exists)
            #expect(
                error.description.unicodeScalars.allSatisfy {
                    $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
                })
            #expect(error.description.count < 500)
        }
    }

    @Test(arguments: ["generous", "empty-data", "dying"])
    func dataThatWasNotAskedFor(_ mode: String) async throws {
        try await makeVault()
        let remote = client(mode)
        let error = await failure { () async throws(RemoteError) in
            try await remote.get(vault.member(2), 0..<(4 << 20))
        }
        #expect(error?.canRetryHelp == true)
    }

    @Test(arguments: ["endless", "empty-names", "vanishing", "count", "deep"])
    func listingsThatAreNone(_ mode: String) async throws {
        try await makeVault()
        let error = await failure { () async throws(RemoteError) in
            try await client(mode).list(vault.members, after: nil)
        }
        #expect(error?.canRetryHelp == true)
    }

    @Test func namesThatAreNone() async throws {
        try await makeVault()
        let listing = try await client("names").all(vault.members)
        #expect(listing.map(\.name) == [vault.member(1), vault.member(2)])
    }

    @Test func aServerThatSaysNothing() async throws {
        try await makeVault()
        let remote = client("silent", patience: 1)
        let error = await failure { () async throws(RemoteError) in
            try await remote.get(vault.member(1), 0..<9)
        }
        guard case .unreachable = error else { return #expect(error == .unreachable("")) }
    }

    /// A cancelled call ends at once, and so does its thread.
    @Test func cancelledCallsEnd() async throws {
        try await makeVault()
        let remote = client("silent", patience: 100)
        for _ in 0..<20 {
            let get = Task { try await remote.get(vault.member(1), 0..<9) }
            try await Task.sleep(for: .milliseconds(50))
            get.cancel()
            await #expect(throws: RemoteError.cancelled) { try await get.value }
        }
    }

    /// An error at close is an error of the put.
    @Test func uploadsThatFailLate() async throws {
        let remote = client("late")
        let error = await failure { () async throws(RemoteError) in
            try await remote.put(vault.format, .memory([1]), ifAbsent: false)
        }
        #expect(error != nil)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/\(vault.format)"))
    }

    /// No program stays when its backend is gone.
    @Test func programsEndWithTheirBackend() async throws {
        let mark = "sftp.py honest \(directory.path)"
        func isRunning() -> Bool { !LocalServer.processes(with: mark).isEmpty }
        do {
            let remote = client("honest")
            try await remote.put(vault.format, .memory([1]), ifAbsent: true)
            #expect(isRunning())
        }
        for _ in 0..<200 where isRunning() { try await Task.sleep(for: .milliseconds(50)) }
        #expect(!isRunning())
    }
}
