import CofferCrypto
import Foundation
import LocalServers
import RemoteConformance
import Synchronization
import Testing

@testable import CofferRemote

/// Credentials that the profile has for a place.
@Suite struct LoginTests {
    /// What a profile has, which may change.
    private final class Kept: Sendable {
        private let login: Mutex<RemoteLogin?>

        init(_ login: RemoteLogin?) { self.login = Mutex(login) }

        func set(_ new: RemoteLogin?) { login.withLock { $0 = new } }

        var now: RemoteLogin? { login.withLock { $0 } }
    }

    private static func secret(_ text: String) -> SecretBytes {
        let bytes = Array(text.utf8)
        return SecretBytes(copying: bytes.span.bytes)
    }

    private static func login(
        _ user: String, _ secret: String, token: String = "", at place: String = "s3://bucket"
    ) throws -> RemoteLogin {
        try RemoteLogin(
            at: place, user: self.secret(user), secret: self.secret(secret), token: self.secret(token))
    }

    @Test(
        arguments: [
            ("s3://bucket/a/b", "s3://bucket"),
            ("s3:https://Host:9000/bucket/x", "s3:https://host:9000/bucket"),
            ("webdavs://me@Dav.example:8/x/y", "webdavs://me@dav.example:8"),
            ("webdav://dav.example", "webdav://dav.example"), ("/folder", nil), ("sftp://host/x", nil),
            ("rclone:drive:x", nil),
        ] as [(String, String?)])
    func placesOfCredentials(_ text: String, _ place: String?) throws {
        #expect(try RemoteURL(text).loginPlace == place)
        if let place { #expect(try RemoteURL(place).loginPlace == place) }
    }

    @Test(
        arguments: [
            ("", "s", "", .empty("access key")), ("u", "", "", .empty("secret key")),
            ("u", "s\n", "", .unusable("secret key")), ("u", "s", "\u{0}", .unusable("session token")),
            (String(repeating: "u", count: 4097), "s", "", .tooLong("access key")),
        ] as [(String, String, String, RemoteLogin.Mistake)])
    func mistakes(_ user: String, _ secret: String, _ token: String, _ mistake: RemoteLogin.Mistake) {
        #expect(throws: mistake) { _ = try Self.login(user, secret, token: token) }
    }

    @Test func aUserHasNoColon() throws {
        #expect(throws: RemoteLogin.Mistake.colonInUser) {
            _ = try Self.login("a:b", "s", at: "webdav://host")
        }
        _ = try Self.login("a:b", "s")
    }

    // MARK: S3

    private static func environment(_ variables: [String: String]) -> S3Environment {
        let fixed = ["AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"]
        return S3Environment { variables[$0] ?? fixed[$0] }
    }

    /// Variables come first, and those of the profile are next if the server refuses them.
    @Test func theOrderOfSources() async throws {
        let kept = Kept(try Self.login("mine", "secret", token: "token"))
        let own = S3Credentials(accessKey: "mine", secretKey: "secret", sessionToken: "token")
        let variables = ["AWS_ACCESS_KEY_ID": "theirs", "AWS_SECRET_ACCESS_KEY": "x"]
        let first = S3CredentialSource(Self.environment(variables), login: { kept.now }, now: { 0 })
        let theirs = try await first.credentials()
        #expect(theirs.accessKey == "theirs")
        #expect(try await first.credentials(refused: theirs) == own)
        #expect(try await first.credentials() == own, "it remembers what was refused")
        let only = S3CredentialSource(Self.environment([:]), login: { kept.now }, now: { 0 })
        #expect(try await only.credentials() == own)
        #expect(try await only.credentials(refused: own) == own, "there are no others")
    }

    /// A running mount uses new ones at once, and old ones no more.
    @Test func changesAreSeenAtOnce() async throws {
        let kept = Kept(try Self.login("one", "s"))
        let source = S3CredentialSource(Self.environment([:]), login: { kept.now }, now: { 0 })
        #expect(try await source.credentials().accessKey == "one")
        kept.set(try Self.login("two", "s"))
        #expect(try await source.credentials().accessKey == "two")
        kept.set(nil)
        do throws(RemoteError) {
            _ = try await source.credentials()
            Issue.record("credentials from nowhere")
        } catch {
            #expect("\(error)".contains("coffer remote login"))
        }
    }

    @Test(.enabled(if: S3Server.isThere, "moto is not installed"))
    func aServerOfS3() async throws {
        let kept = Kept(try Self.login("writer", "wrong"))
        let place = S3Place(
            endpoint: try S3Server.endpoint(), region: "us-east-1", bucket: "tests",
            prefix: "login \(UInt64.random(in: 0 ... .max))/", style: .path)
        let client = S3Backend(place, Self.environment([:]), login: { kept.now })
        let name = someVault().format
        for wrong in [try Self.login("writer", "wrong"), try Self.login("nobody", "x")] {
            kept.set(wrong)
            // A HEAD has no body that says why.
            for error in [
                await failure { () async throws(RemoteError) in _ = try await client.get(name, 0..<0) },
                await failure { () async throws(RemoteError) in
                    try await client.put(name, .memory([1]), ifAbsent: true)
                },
            ] {
                guard case .refused(let text) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(text.contains("coffer remote login"), "\(text)")
                #expect(text.contains("SignatureDoesNotMatch") || text.contains("InvalidAccessKeyId"))
            }
        }
        kept.set(try Self.login("writer", S3Server.variables("writer")["AWS_SECRET_ACCESS_KEY"] ?? ""))
        try await client.put(name, .memory([1]), ifAbsent: true)
        #expect(try await client.get(name, 0..<9).bytes == [1])
    }

    // MARK: WebDAV

    @Test(
        .enabled(if: ApacheServer.isThere, "Apache is not installed"),
        arguments: ["basic", "digest"])
    func aServerOfWebDAV(way: String) async throws {
        let directory = WebDAVServer.encoded(try WebDAVServer.directory())
        let text = try WebDAVServer.url(way, directory)
        guard case .webdav(let url) = try RemoteURL(text) else { return #expect(Bool(false), "\(text)") }
        let kept = Kept(nil)
        let wrong = ["COFFER_WEBDAV_PASSWORD": "wrong", "COFFER_WEBDAV_SERVER": url.server]
        let name = someVault().format
        for variables in [[:], wrong] {
            kept.set(nil)
            let client = WebDAVBackend(url, variable: { variables[$0] }, login: { kept.now })
            for password in [nil, "wrong, too"] {
                kept.set(try password.map { try Self.login("me", $0, at: url.loginPlace) })
                let error = await failure { () async throws(RemoteError) in
                    try await client.put(name, .memory([1]), ifAbsent: false)
                }
                guard case .refused(let reason) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(reason.contains("coffer remote login"))
            }
            // The same client, as in a mount that runs.
            kept.set(try Self.login("me", "secret", at: url.loginPlace))
            try await client.put(name, .memory([7]), ifAbsent: false)
            #expect(try await client.get(name, 0..<9).bytes == [7])
            kept.set(nil)
            let error = await failure { () async throws(RemoteError) in
                _ = try await client.get(name, 0..<9)
            }
            #expect(error != nil, "it was logged out")
        }
    }
}
