import CofferFormat
import CofferRemote
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

struct UnsentChangesTests {
    /// What a program has overwritten is deleted only when the new content is at the remote.
    @Test(arguments: [false, true]) func packsStayUntilAllIsSent(isRestless: Bool) async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        (olga.setup.retiredByteCountMin, olga.setup.retiredFraction) = (1, .max)
        olga.restart()
        try await olga.writes("o", "1")
        if isRestless { await olga.replica.changesWithEachCommit() }
        let pack = PackID(low: 1, high: 1)
        try await world.remote.put(world.layout.pack(pack), .memory([1]), ifAbsent: true)
        try await olga.sync()
        #expect(await olga.replica.hasChanges == isRestless)
        let asked = await olga.engine.retirements.own?.packs
        #expect(asked == (isRestless ? nil : [pack]))
    }

    /// Others hear of the device that shares a vault before it puts packs, and wait for it from then on.
    @Test func theLogOfASharedVaultBeginsWithoutChanges() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        try await olga.writes("file", "1")
        try await olga.sync()
        let summary = try await olga.ownSummary
        #expect(summary.head.sequence == 2 && summary.lastWrite?.sequence == 2)
    }
}
