import CofferRemote
import RemoteConformance
import Testing

/// S3 gives what docs/protocol.md promises.
@Suite(.serialized, .enabled(if: S3Server.isThere, "moto is not installed"))
struct S3ConformanceTests {
    @Test("A bucket", arguments: RemoteConformance.cases)
    func bucket(_ item: RemoteCase) async throws {
        try await check(item, at: S3Places())
    }

    /// All but what takes a server that excludes.
    @Test(
        "A bucket of a server without If-None-Match", arguments: ["ignorant"],
        RemoteConformance.cases.filter {
            !$0.name.contains("at once, one succeeds") && !$0.name.contains("killed")
        })
    func poorBucket(_ bucket: String, _ item: RemoteCase) async throws {
        try await check(item, at: S3Places(bucket: bucket))
    }
}
