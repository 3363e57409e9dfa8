import CofferRemote
import RemoteConformance
import Testing

/// Places that are no server of the kind that the URL says, and what a user is told of them.
@Suite struct WrongServerTests {
    private let vault = someVault()

    private static func remotes(_ path: String) throws -> [any RemoteBackend] {
        [WebDAVBackend(try OverloadServer.webdav(path)), try OverloadServer.s3(path)]
    }

    /// What each call says; nil for one that claims to have succeeded.
    private func answers(_ remote: any RemoteBackend) async -> [String: RemoteError?] {
        [
            "put": await failure { () async throws(RemoteError) in
                try await remote.put(vault.format, .memory([1, 2]), ifAbsent: false)
            },
            "put if absent": await failure { () async throws(RemoteError) in
                try await remote.put(vault.format, .memory([1, 2]), ifAbsent: true)
            },
            "get": await failure { () async throws(RemoteError) in
                _ = try await remote.get(vault.format, 0..<2)
            },
            "delete": await failure { () async throws(RemoteError) in
                try await remote.delete(vault.format)
            },
            "list": await failure { () async throws(RemoteError) in
                _ = try await remote.list(.all, after: nil)
            },
        ]
    }

    /// A network that wants a login answers everything with success: nothing may count as stored or read.
    @Test func aPageThatWantsALogin() async throws {
        for remote in try Self.remotes("portal") {
            for (call, error) in await answers(remote) {
                let error = try #require(error, "\(remote.describe()): \(call) claims to have succeeded")
                #expect("\(error)".contains("login"), "\(remote.describe()): \(call): \(error)")
            }
        }
    }

    @Test(arguments: [("away", "https://login.example/"), ("proxy", "http_proxy")])
    func othersThatAnswerInItsPlace(path: String, advice: String) async throws {
        for remote in try Self.remotes(path) {
            for (call, error) in await answers(remote) {
                let error = try #require(error, "\(remote.describe()): \(call)")
                #expect("\(error)".contains(advice), "\(remote.describe()): \(call): \(error)")
                // Trying again does not help.
                #expect(!error.canRetryHelp)
            }
        }
    }
}
