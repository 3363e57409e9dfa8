@testable import CofferRemote
import CofferSystem
import Foundation
import LocalServers
import RemoteConformance
import Testing

/// rclone over files of this machine gives what docs/protocol.md promises.
@Suite(.serialized, .enabled(if: Rclone.isThere, "rclone is not installed"), .timeLimit(.minutes(15)))
struct RcloneConformanceTests {
    @Test("rclone", arguments: SFTPServers.casesWithoutAtomicPuts)
    func rclone(_ item: RemoteCase) async throws {
        try await check(item, at: RclonePlaces())
    }
}

/// Places of rclone: what they are called, and what goes wrong.
@Suite(.timeLimit(.minutes(15)))
struct RcloneTests {
    private let directory: TemporaryDirectory
    private let vault = someVault()

    init() throws { directory = try TemporaryDirectory() }

    private func failure(of remote: SFTPBackend, _ bytes: RemoteBytes = .memory([1])) async -> RemoteError? {
        do throws(RemoteError) {
            try await remote.put(vault.format, bytes, ifAbsent: false)
            return nil
        } catch {
            return error
        }
    }

    /// A client of a program that says something and ends.
    private func client(saying text: String) throws -> SFTPBackend {
        let script = "echo x >> \"$0\"; echo \"$1\" >&2; exit 1"
        guard case .rclone(let url) = try RemoteURL("rclone:my drive:vaults") else {
            throw RemoteURL.Mistake.noScheme
        }
        var server = SFTPServer.rclone(url, ProcessVariables.all)
        server.command = ["sh", "-c", script, "\(directory.path)/count", text]
        return SFTPBackend(server, root: ".", text: "rclone")
    }

    @Test(arguments: [
        ("rclone:drive:a/b/", "rclone:drive:a/b"), ("rclone:drive:", "rclone:drive:"),
        ("RCLONE:My_Drive-2:/srv/ä b", "rclone:My_Drive-2:/srv/ä b"),
        ("rclone:my drive:x:y", "rclone:my drive:x:y"),
    ])
    func urls(_ text: String, _ canonical: String) throws {
        let url = try RemoteURL(text)
        #expect(url.text == canonical)
        #expect(try RemoteURL(canonical) == url)
        #expect(try url.open().describe() == "rclone remote \(canonical.dropFirst("rclone:".count))")
    }

    /// An invite names no file of this machine, no program, and no option.
    @Test(arguments: [
        "rclone:", "rclone:x", "rclone::local:/etc", "rclone::sftp,ssh=id:/", "rclone:drive,root=x:y",
        "rclone:-x:y", "rclone:--config=x:y", "rclone: x:y", "rclone:x :y", "rclone:/etc:x", "rclone:a=b:x",
        "rclone:x:a/../b", "rclone:x:a//b", "rclone:x:./b", "rclone:x:a\nb", "rclone:x:a\u{9b}b",
        "rclone:'x':y",
    ])
    func urlsThatAreNone(_ text: String) {
        #expect(throws: RemoteURL.Mistake.self) { try RemoteURL(text) }
    }

    @Test(arguments: [
        ("Error: unknown flag: --stdio", "too old"),
        (
            "2026/01/02 03:04:05 Failed to create file system for drive: didn't find section in config file",
            "rclone config"
        ),
        (
            "2026/01/02 03:04:05 CRITICAL: Failed to create file system: token expired",
            "rclone lsd 'my drive:'"
        ),
        ("panic", "panic"), ("unable to decrypt config: wrong password", "RCLONE_CONFIG_PASS"),
    ])
    func whatRcloneComplainsAbout(_ text: String, _ expected: String) async throws {
        let remote = try client(saying: text)
        let start = Clock.monotonic
        for _ in 0..<20 {
            let error = try #require(await failure(of: remote))
            #expect(error.description.contains(expected) && error.description.contains("my drive"))
        }
        // Calls do not each start a program.
        let count = try WholeFile.read("\(directory.path)/count", limit: 99).count / 2
        #expect(count <= SFTPServers.attemptsMax(since: start))
    }

    @Test func noRclone() async throws {
        let error = await failure(of: try Rclone.client("rclone:x:y", program: "\(directory.path)/none"))
        guard case .unsupported(let text) = error else { return #expect(error == .unsupported("")) }
        #expect(text.contains("rclone is not installed"))
    }

    @Test(.enabled(if: Rclone.isThere)) func anUnknownRemote() async throws {
        let error = await failure(of: try Rclone.client("rclone:nowhere:x"))
        guard case .refused(let text) = error else { return #expect(error == .refused("")) }
        #expect(text.contains("rclone has no remote nowhere"))
    }

    /// What rclone could not upload is not called stored.
    @Test(.enabled(if: Rclone.isThere && FolderPlaces.canMount)) func uploadsThatFail() async throws {
        try directory.mountMemory(1 << 20)
        let remote = try Rclone.client("rclone:tests:\(directory.path)")
        for byteCount in [2 << 20, 3 << 20, 40 << 20] {
            let bytes = [UInt8](repeating: 7, count: byteCount)
            let error = await failure(of: remote, .memory(bytes))
            #expect(error == .full, "\(String(describing: error))")
        }
        #expect(await failure(of: remote) == nil)
        #expect(try await remote.all(vault.format) == [1])
    }

    /// An rclone that dies fails its calls; the next call starts another.
    @Test(.enabled(if: Rclone.isThere)) func anRcloneThatDies() async throws {
        let remote = try Rclone.client("rclone:tests:\(directory.path)")
        try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        for round in 0..<3 {
            let bytes = WholeObject.bytes(UInt64(round), byteCount: 30 << 20)
            let put = Task { await failure(of: remote, .memory(bytes)) }
            try await Task.sleep(for: .milliseconds(30 + 40 * round))
            for process in LocalServer.processes(with: "tests:\(directory.path)") { kill(process, SIGKILL) }
            let error = await put.value
            #expect(error == nil || error?.canRetryHelp == true)
        }
        // One that died before it had answered is not started again at once.
        let patient = RetryingRemote(remote)
        try await patient.put(vault.member(1), .memory([9]), ifAbsent: true)
        #expect(try await patient.all(vault.member(1)) == [9])
        #expect(try await remote.shortcomings().contains { $0.contains("rclone cannot promise") })
        #expect(SFTPServers.casesWithoutAtomicPuts.count == RemoteConformance.cases.count - 2)
    }

    /// Copies of an rclone that were not ended would stay behind each mount.
    @Test(.enabled(if: Rclone.isThere)) func anRcloneEndsWithItsBackend() async throws {
        func isRunning() -> Bool { !LocalServer.processes(with: "tests:\(directory.path)").isEmpty }
        do {
            let remote = try Rclone.client("rclone:tests:\(directory.path)")
            try await remote.put(vault.format, .memory([1]), ifAbsent: true)
            #expect(isRunning())
        }
        for _ in 0..<200 where isRunning() { try await Task.sleep(for: .milliseconds(50)) }
        #expect(!isRunning())
    }
}
