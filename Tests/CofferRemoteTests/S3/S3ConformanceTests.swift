import CofferRemote
import RemoteConformance
import Testing

/// S3 keeps the promises of docs/protocol.md.
@Suite(.serialized, .enabled(if: S3Server.isThere, "moto is not installed"))
struct S3ConformanceTests {
    @Test("A bucket", arguments: RemoteConformance.cases)
    func bucket(_ item: RemoteCase) async throws {
        try await check(item, at: S3Places())
    }

    /// All cases except those that need a server that creates names exclusively.
    @Test(
        "A bucket of a server without If-None-Match", arguments: ["ignorant"],
        RemoteConformance.cases.filter {
            !$0.name.contains("at once, one succeeds") && !$0.name.contains("killed")
        })
    func poorBucket(_ bucket: String, _ item: RemoteCase) async throws {
        try await check(item, at: S3Places(bucket: bucket))
    }
}
