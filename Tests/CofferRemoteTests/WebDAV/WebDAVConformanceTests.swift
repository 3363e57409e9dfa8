import CofferRemote
import LocalServers
import RemoteConformance
import Testing

/// WebDAV keeps the promises of docs/protocol.md.
@Suite(.serialized, .enabled(if: ApacheServer.isThere, "apache2 is not installed"))
struct WebDAVConformanceTests {
    @Test("A collection", arguments: RemoteConformance.cases)
    func collection(_ item: RemoteCase) async throws {
        try await check(item, at: WebDAVPlaces())
    }

    @Test("A collection with Digest authentication", arguments: RemoteConformance.cases)
    func digest(_ item: RemoteCase) async throws {
        try await check(item, at: WebDAVPlaces(way: "digest"))
    }

    @Test("A collection over TLS, with Basic authentication", arguments: RemoteConformance.cases)
    func secure(_ item: RemoteCase) async throws {
        try await check(item, at: WebDAVPlaces(way: "basic", isSecure: true))
    }
}
