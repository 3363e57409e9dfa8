import CofferRemote
import LocalServers
import RemoteConformance
import Testing

/// SFTP gives what docs/protocol.md promises.
@Suite(
    .serialized, .enabled(if: SSHServer.isThere, "openssh-server is not installed"), .timeLimit(.minutes(15)))
struct SFTPConformanceTests {
    @Test("OpenSSH", arguments: RemoteConformance.cases)
    func openSSH(_ item: RemoteCase) async throws {
        try await check(item, at: SFTPPlaces())
    }

    @Test("A server without links, fsync, and rename(2)", arguments: SFTPServers.casesWithoutAtomicPuts)
    func poor(_ item: RemoteCase) async throws {
        try await check(item, at: SFTPPlaces(isPoor: true))
    }
}
