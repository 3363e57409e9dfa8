import CofferHTTP
@testable import CofferRemote
import Foundation
import LocalServers
import RemoteConformance
import Testing

/// Promises of WebDAV beyond those of every backend.
@Suite(.serialized, .enabled(if: ApacheServer.isThere, "apache2 is not installed"))
struct WebDAVTests {
    private func failure<Value>(_ body: () async throws(RemoteError) -> Value) async -> RemoteError? {
        do throws(RemoteError) {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    /// A vault of one object in a directory of its own, and the path of that directory.
    private func makeVault(_ way: String = "open") async throws -> (RemoteLayout, URL, WebDAVBackend) {
        let directory = try WebDAVServer.directory()
        let client = try WebDAVServer.client(try WebDAVServer.url(way, WebDAVServer.encoded(directory)))
        let vault = someVault()
        try await client.put(vault.format, .memory([1]), ifAbsent: true)
        return (vault, URL(filePath: "\(try WebDAVServer.server().root)/\(directory)"), client)
    }

    @Test(arguments: ["basic", "digest"])
    func aWrongPasswordIsRefused(way: String) async throws {
        let directory = WebDAVServer.encoded(try WebDAVServer.directory())
        let client = try WebDAVServer.client(try WebDAVServer.url(way, directory), password: "wrong")
        for error in [
            await failure { () async throws(RemoteError) in try await client.list(.all, after: nil) },
            await failure { () async throws(RemoteError) in
                try await client.put(someVault().format, .memory([1]), ifAbsent: true)
            },
        ] {
            guard case .refused(let text) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(text.contains("COFFER_WEBDAV_PASSWORD") && text.contains("netrc"))
        }
    }

    /// An invite may name any server; the variables are for one.
    @Test func aPasswordOfTheEnvironmentIsForOneServer() async throws {
        let text = try WebDAVServer.url("basic", WebDAVServer.encoded(try WebDAVServer.directory()))
        guard case .webdav(let url) = try RemoteURL(text) else { return }
        #expect(url.server == "webdav://127.0.0.1:\(try WebDAVServer.server().port)")
        let others = [
            nil, "", "webdavs" + url.server.dropFirst("webdav".count), "webdav://127.0.0.1", url.server,
        ]
        for server in others {
            let variables = ["COFFER_WEBDAV_PASSWORD": "secret", "COFFER_WEBDAV_SERVER": server]
            let client = WebDAVBackend(url, variable: { variables[$0] ?? nil })
            let error = await failure { () async throws(RemoteError) in
                try await client.put(someVault().format, .memory([1]), ifAbsent: true)
            }
            #expect((error == nil) == (server == url.server), "\(server ?? "none")")
        }
    }

    @Test func anUnknownAuthorityIsNotTrusted() async throws {
        let text = try WebDAVServer.url("open", "x", isSecure: true)
        guard case .webdav(let url) = try RemoteURL(text) else {
            Issue.record("not a URL of WebDAV: \(text)")
            return
        }
        let client = WebDAVBackend(
            url, variable: { _ in nil }, certificateFile: "/etc/ssl/certs/ca-certificates.crt")
        let error = await failure { () async throws(RemoteError) in try await client.list(.all, after: nil) }
        // Repeating it is in vain, and the message says what helps.
        guard case .refused(let reason) = error else { return #expect(error == .refused("")) }
        #expect(reason.contains("certificate") && reason.contains("SSL_CERT_FILE"))
    }

    @Test func aMissingVaultIsUnreachableAndNothingIsMade() async throws {
        let (vault, directory, client) = try await makeVault()
        let other = try WebDAVServer.client(client.client.url.text)
        try FileManager.default.removeItem(at: directory.appending(path: "vaults"))
        for error in [
            await failure { () async throws(RemoteError) in try await other.get(vault.member(1), 0..<1) },
            await failure { () async throws(RemoteError) in try await other.list(vault.prefix, after: nil) },
            await failure { () async throws(RemoteError) in
                try await other.put(vault.member(1), .memory([1]), ifAbsent: true)
            },
            await failure { () async throws(RemoteError) in
                try await other.put(vault.member(1), .memory([1]), ifAbsent: false)
            },
        ] {
            guard case .unreachable = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(
            await failure { () async throws(RemoteError) in try await other.get(vault.format, 0..<1) }
                == .absent)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        // The client's own collection is never made.
        try FileManager.default.removeItem(at: directory)
        let error = await failure { () async throws(RemoteError) in
            try await other.put(vault.format, .memory([1]), ifAbsent: true)
        }
        guard case .unreachable = error else { return #expect(error == .unreachable("")) }
    }

    @Test func tidyLeavesNothingButObjects() async throws {
        let (vault, directory, client) = try await makeVault()
        for sequence in 0..<3 as Range<UInt64> {
            try await client.put(vault.member(sequence), .memory([1]), ifAbsent: true)
        }
        try await client.delete(vault.member(0))
        try await client.tidy(vault.prefix)
        #expect(try await client.all(vault.members).count == 2)
        for name in [vault.member(1), vault.member(2), vault.format] { try await client.delete(name) }
        try await client.tidy(vault.prefix)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: directory.path) == ["vaults"])
    }

    @Test func putsLeaveNothingBehind() async throws {
        let (vault, directory, client) = try await makeVault()
        for ifAbsent in [true, false, false] {
            try? await client.put(vault.member(1), .memory([1]), ifAbsent: ifAbsent)
        }
        await #expect(throws: RemoteError.exists) {
            try await client.put(vault.member(1), .memory([1]), ifAbsent: true)
        }
        let incoming = directory.appending(path: "\(vault.prefix).incoming")
        #expect(try FileManager.default.contentsOfDirectory(atPath: incoming.path).isEmpty)
    }

    /// Leftovers of killed puts are removed once they are old; recent ones, and objects of others, stay.
    @Test func abandonedCollectionsAreRemoved() async throws {
        let (vault, directory, client) = try await makeVault()
        let incoming = directory.appending(path: "\(vault.prefix).incoming")
        for name in ["put.1", "claim.members~1", "other"] {
            let path = incoming.appending(path: name)
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
            try Data([1]).write(to: path.appending(path: "a.b.1.c"))
            chmod(path.path, 0o777)
        }
        chmod(incoming.path, 0o777)
        let path = "\(vault.prefix).incoming"
        try await WebDAVCleaning.clean(path, client.client, olderThan: 1000)
        #expect(try FileManager.default.contentsOfDirectory(atPath: incoming.path).count == 3)
        try await WebDAVCleaning.clean(path, client.client, olderThan: 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: incoming.path) == ["other"])
    }

    /// The claim of a dead process does not block a name; a claim of another machine does.
    @Test func claimsOfDeadProcessesAreIgnored() async throws {
        let (vault, directory, client) = try await makeVault()
        let ended = Process()
        ended.executableURL = URL(filePath: "/bin/true")
        try ended.run()
        ended.waitUntilExit()
        let name = vault.member(1)
        let key = name.segments.joined(separator: "~")
        let claim = directory.appending(path: "\(vault.prefix).incoming/claim.\(key)")
        for (holder, isFree) in [
            (ClaimHolder.place(ended.processIdentifier), true), ("0123.1.\(ended.processIdentifier)", false),
            (ClaimHolder.place(getpid()), false),
        ] {
            try FileManager.default.createDirectory(at: claim, withIntermediateDirectories: true)
            try Data([9]).write(to: claim.appending(path: "\(holder).77"))
            chmod(claim.path, 0o777)
            let error = await failure { () async throws(RemoteError) in
                try await client.put(name, .memory([1]), ifAbsent: true)
            }
            #expect(error == (isFree ? nil : .busy(after: nil)))
            try await client.delete(name)
            try? FileManager.default.removeItem(at: claim)
        }
    }

    @Test func serversAreDistinguished() async throws {
        guard case .webdav(let url) = try RemoteURL("webdav://127.0.0.1:1/x") else {
            Issue.record("not a URL of WebDAV")
            return
        }
        let closed = WebDAVBackend(url, variable: { _ in nil })
        let error = await failure { () async throws(RemoteError) in try await closed.list(.all, after: nil) }
        guard case .unreachable = error else { return #expect(error == .unreachable("")) }
    }

    /// A listing of another place, an empty one, or one without an end is refused.
    @Test(arguments: [
        "", "<a/>", "<multistatus xmlns='DAV:'>",
        "<multistatus xmlns='DAV:'><response><href>/elsewhere/vaults/</href></response></multistatus>",
        "<multistatus xmlns='DAV:'><response><href>/dav/x/y/z</href></response></multistatus>",
        "<multistatus xmlns='DAV:'><response><href>/dav/%zz</href></response></multistatus>",
    ])
    func hostileListings(_ text: String) {
        let answer = HTTPResponse(status: 207, headers: [], body: Array(text.utf8))
        #expect(throws: RemoteError.self) { try WebDAVDirectory(answer, of: "dav/x") }
    }

    @Test func listingsOfOtherServers() throws {
        let text = """
            <?xml version="1.0"?><D:multistatus xmlns:D="DAV:"><D:response><D:href>https://h/dav/x%20y</D:href>
            <D:propstat><D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop>
            <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
            <D:response><D:href>/dav/x%20y/one</D:href><D:propstat><D:prop><D:resourcetype/>
            <D:getcontentlength>12</D:getcontentlength><D:getetag>"t"</D:getetag></D:prop>
            <D:status>HTTP/1.1 200 OK</D:status></D:propstat><D:propstat><D:prop><D:getlastmodified/></D:prop>
            <D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>
            <D:response><D:href>/dav/x%20y/two/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/>
            </D:resourcetype></D:prop></D:propstat></D:response>
            <D:response><D:href>/dav/x%20y/three</D:href><D:propstat><D:prop><D:resourcetype/></D:prop></D:propstat>
            </D:response></D:multistatus>
            """
        let headers = [HTTPHeader("date", "Sun, 06 Nov 1994 08:49:37 GMT")]
        let answer = HTTPResponse(status: 207, headers: headers, body: Array(text.utf8))
        let directory = try WebDAVDirectory(answer, of: "/dav/x y/")
        #expect(directory.now == 784_111_777)
        #expect(directory.entries.map(\.name) == ["one", "two"])
        #expect(directory.entries.map(\.byteCount) == [12, 0])
        #expect(directory.entries.map(\.isCollection) == [false, true])
    }
}
