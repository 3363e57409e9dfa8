import CofferRemote
import CofferTestSupport
import RemoteConformance
import Testing

/// Every backend, and every wrapper of one, keeps the promises of docs/protocol.md.
@Suite(.serialized) struct ConformanceTests {
    @Test("A folder", arguments: RemoteConformance.cases)
    func folder(_ item: RemoteCase) async throws {
        try await check(item, at: FolderPlaces())
    }

    @Test("A folder in memory", .enabled(if: FolderPlaces.canMount), arguments: RemoteConformance.cases)
    func mountedFolder(_ item: RemoteCase) async throws {
        try await check(item, at: FolderPlaces(isMounted: true))
    }

    @Test(
        "A folder where links cannot be made, and where names cannot be kept from being replaced",
        arguments: RemoteConformance.cases, [FolderPublishing.rename, .claim])
    func poorFolder(_ item: RemoteCase, _ way: FolderPublishing) async throws {
        try await check(item, at: FolderPlaces(isMounted: FolderPlaces.canMount, publishing: [way]))
    }

    @Test("Memory", arguments: RemoteConformance.cases)
    func memory(_ item: RemoteCase) async throws {
        try await check(item, at: MemoryPlaces(pageEntryCountMax: 3))
    }

    @Test("A remote that is counted, limited and retried", arguments: RemoteConformance.cases)
    func decorated(_ item: RemoteCase) async throws {
        try await check(
            item,
            at: MemoryPlaces(pageEntryCountMax: 1000) { remote in
                let limits = TransferLimits(sending: 1 << 20, receiving: 1 << 20, clock: SteppingClock())
                let limited = RateLimitedRemote(remote, limits)
                return RetryingRemote(CountingRemote(limited), clock: SteppingClock())
            })
    }

    @Test("A faulty remote without faults", arguments: RemoteConformance.cases)
    func faultless(_ item: RemoteCase) async throws {
        try await check(
            item, at: MemoryPlaces(pageEntryCountMax: 1000) { FaultyRemote($0, RemoteFaults(), seed: 1) })
    }

    /// All promises hold if requests that fail before or after their effect are repeated until they succeed.
    @Test("Faults that are retried", arguments: RemoteConformance.cases)
    func retriedFaults(_ item: RemoteCase) async throws {
        var faults = RemoteFaults()
        (faults.failsBefore, faults.failsAfter, faults.yieldsMax) = (6, 6, 3)
        let seed = UInt64.random(in: 0 ... .max)
        try await check(
            item,
            at: MemoryPlaces(pageEntryCountMax: 1000) { [faults] remote in
                RetryingRemote(FaultyRemote(remote, faults, seed: seed), clock: SteppingClock())
            }, "seed \(seed)")
    }
}
