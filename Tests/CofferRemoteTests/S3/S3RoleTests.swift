@testable import CofferRemote
import CofferSystem
import Foundation
import LocalServers
import RemoteConformance
import Synchronization
import Testing

/// Keys of containers and virtual machines, and vaults that are not there.
@Suite(.timeLimit(.minutes(15)))
struct S3RoleTests {
    private let server: LocalServer
    private let directory: TemporaryDirectory

    init() throws {
        server = try LocalServer(["python3", LocalServer.script("roles.py")])
        directory = try TemporaryDirectory()
    }

    /// 2030-01-01, in seconds since 1970.
    private static let start: Int64 = 1_893_456_000

    private final class Now: Sendable {
        let time = Mutex(S3RoleTests.start)
    }

    private func variables() throws -> [String: String] {
        let url = "http://127.0.0.1:\(try server.port())"
        try WholeFile.replace("\(directory.path)/token", with: Array("open sesame\n".utf8))
        return [
            "HOME": directory.path, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(url)/container",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "\(directory.path)/token",
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": "\(url)/", "http_proxy": "http://127.0.0.1:1",
        ]
    }

    /// They are kept until shortly before their end; and if there are no others, until their end.
    @Test(arguments: [true, false])
    func keysAreReplacedBeforeTheyEnd(isContainer: Bool) async throws {
        var variables = try variables()
        if !isContainer { variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = nil }
        let environment = S3Environment { [variables] in variables[$0] }
        let now = Now()
        let source = S3CredentialSource(environment, now: { now.time.withLock { $0 } })
        let first = try await source.credentials()
        #expect(first.accessKey == "key-1" && first.secretKey == "se/cret" && first.sessionToken == "token")
        #expect(first.expiration == Self.start + 3600)
        #expect(try await source.credentials() == first)
        now.time.withLock { $0 = Self.start + 3599 - 120 }
        #expect(try await source.credentials() == first)
        now.time.withLock { $0 = Self.start + 3600 - 60 }
        #expect(try await source.credentials().accessKey == "key-2")
        // What the server of S3 refuses is not used again.
        let second = try await source.credentials(refused: first)
        #expect(second != first)
        guard isContainer else { return }
        try WholeFile.replace("\(directory.path)/token", with: Array("wrong\n".utf8))
        #expect(try await source.credentials().accessKey.hasPrefix("key-"))
        now.time.withLock { $0 = Self.start + 3601 }
        await #expect(throws: RemoteError.self) { try await source.credentials() }
    }

    @Test func answersThatAreNone() async throws {
        var variables = try variables()
        let url = "http://127.0.0.1:\(try server.port())"
        for path in ["/nonsense", "/other"] {
            variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url + path
            let source = S3CredentialSource(S3Environment { [variables] in variables[$0] }, now: { 0 })
            await #expect(throws: RemoteError.self) { try await source.credentials() }
        }
    }

    @Test(arguments: [
        ("https://example.org/x", true), ("http://localhost:80/x", true), ("http://127.9.9.9/x", true),
        ("http://169.254.170.2/x", true), ("http://[::1]:8/x", true), ("http://169.254.170.23/v1", true),
        ("http://example.org/x", false), ("http://127.0.0.1.example.org/", false),
        ("http://127.0.0.1@example.org/", false),
        ("ftp://localhost/", false), ("http:///x", false), ("http://10.0.0.1/", false),
    ])
    func keysComeFromNowhereElse(_ url: String, _ isTrusted: Bool) {
        #expect(S3RoleCredentials.isTrusted(url) == isTrusted)
    }

    @Test(
        arguments: [
            (#"{}"#, [:]), (#" { "a" : "b" , "c":"d"} "#, ["a": "b", "c": "d"]),
            (#"{"a":1,"b":true,"c":null,"d":"-1.5e3","e":-1.5e3}"#, ["d": "-1.5e3"]),
            (#"{"a":"\"\\\/\n\u00e4\ud83d\ude00ä"}"#, ["a": "\"\\/\n\u{e4}\u{1f600}ä"]),
        ] as [(String, [String: String])])
    func texts(_ json: String, _ expected: [String: String]) {
        #expect(JSONTexts(Array(json.utf8))?.members == expected)
    }

    @Test(arguments: [
        "", "{", "[]", "{\"a\"}", "{\"a\":}", "{\"a\":\"b\"", "{\"a\":\"b\"}x", "{\"a\":\"b\",}",
        "{\"a\":{}}",
        "{\"a\":[]}", "{a:1}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"b", "{\"a\":\"\n\"}",
        "{\"a\":\"b\\",
    ])
    func textsThatAreNone(_ json: String) {
        #expect(JSONTexts(Array(json.utf8)) == nil)
    }

    @Test func moments() {
        #expect(UTCTime.seconds("2030-01-01T00:00:00Z") == Self.start)
        #expect(UTCTime.seconds("2024-02-29T12:00:00.123Z") == 1_709_208_000)
        for text in [
            "", "2030-01-01", "2030-13-01T00:00:00Z", "2030-01-01T00:00:00+01:00", "x-01-01T00:00:00Z",
        ] {
            #expect(UTCTime.seconds(text) == nil)
        }
    }

    /// A vault that is gone is not a vault without objects.
    @Test(.enabled(if: S3Server.isThere, "moto is not installed"))
    func aVaultThatIsMissingIsUnreachable() async throws {
        let vault = someVault()
        let remote = try S3Server.client(prefix: "missing-\(vault.vault)/")
        let other = try S3Server.client(prefix: "missing-\(vault.vault)/")
        try await other.put(vault.format, .memory([1]), ifAbsent: true)
        try await other.put(vault.member(1), .memory([1]), ifAbsent: true)
        try await other.delete(vault.format)
        let errors = [
            await failure { () async throws(RemoteError) in try await remote.get(vault.member(2), 0..<1) },
            await failure { () async throws(RemoteError) in try await remote.list(vault.prefix, after: nil) },
            await failure { () async throws(RemoteError) in
                try await remote.put(vault.member(2), .memory([1]), ifAbsent: true)
            },
        ]
        for error in errors {
            guard case .unreachable(let text)? = error else { return #expect(error == .unreachable("")) }
            #expect(text.contains("the vault is not there"))
        }
        let format = await failure { () async throws(RemoteError) in try await remote.get(vault.format, 0..<1)
        }
        #expect(format == .absent)
    }

    private func failure<Value>(_ body: () async throws(RemoteError) -> Value) async -> RemoteError? {
        do throws(RemoteError) {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }
}
