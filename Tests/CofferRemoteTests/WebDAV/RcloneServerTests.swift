import CofferRemote
import Foundation
import LocalServers
import RemoteConformance
import Testing

/// The WebDAV server of rclone, which answers 403 where RFC 4918 has 409: a collection above a path is missing.
@Suite(.serialized, .enabled(if: Rclone.isThere, "rclone is not installed"))
struct RcloneServerTests {
    /// Runs a server of a directory until the body ends.
    private func withServer(
        _ options: [String] = [], in directory: TemporaryDirectory,
        _ body: (WebDAVBackend) async throws -> Void
    ) async throws {
        let port = try LocalServer.freePort()
        let server = try LocalServer(
            ["rclone", "serve", "webdav", directory.path, "--addr", "127.0.0.1:\(port)"] + options)
        _ = try server.wait { text in text.contains("WebDav Server started") ? true : nil }
        guard case .webdav(let url) = try RemoteURL("webdav://127.0.0.1:\(port)/") else {
            throw RemoteURL.Mistake.noScheme
        }
        try await body(WebDAVBackend(url, variable: { _ in nil }))
        withExtendedLifetime(server) {}
    }

    @Test func missingCollectionsAreMade() async throws {
        let directory = try TemporaryDirectory()
        try await withServer(in: directory) { remote in
            let vault = someVault()
            try await remote.put(vault.format, .memory([1]), ifAbsent: true)
            let pack = try #require(RemoteName("\(vault.prefix.text)packs/00/0011"))
            try await remote.put(pack, .memory([1, 2, 3]), ifAbsent: true)
            await #expect(throws: RemoteError.exists) {
                try await remote.put(pack, .memory([4]), ifAbsent: true)
            }
            try await remote.put(vault.transientKey(vault.vault), .memory([5]), ifAbsent: false)
            #expect(try await remote.all(pack) == [1, 2, 3])
            #expect(try await remote.all(vault.prefix).count == 3)
            let names = try FileManager.default.contentsOfDirectory(
                atPath: "\(directory.path)/\(vault.prefix.text).incoming")
            #expect(names == [])
        }
    }

    @Test func aServerThatIsReadOnly() async throws {
        let directory = try TemporaryDirectory()
        let vault = someVault()
        try await withServer(in: directory) { remote in
            try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        }
        try await withServer(["--read-only"], in: directory) { remote in
            await #expect(throws: RemoteError.self) {
                try await remote.put(vault.member(1), .memory([1]), ifAbsent: true)
            }
            let objects = try await remote.all(vault.prefix)
            #expect(objects.count == 1)
        }
    }
}
