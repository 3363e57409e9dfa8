import CofferFormat
import CofferTrust
import SyncTestSupport
import Testing

@testable import CofferSync

/// A log to which no valid commit can be added, because its author's right has ended.
struct EndedLogTests {
    /// The device no longer has any of the facts, and so finds no withdrawn commit of its own.
    @Test func aDeviceThatRebuildsEverythingBeginsAnotherLog() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let person = try await world.adds("Will", .writer)
        let will = try Device(person, "desk", number: 77, vault: world.vault, remote: world.remote)
        try await will.writes("kept", "1")
        try await will.sync()
        // Made before the role changes, and put afterwards.
        try await will.writes("late", "2")
        #expect(try await will.engine.makeCommit(isNeeded: false))
        try await olga.sync()
        try await olga.engine.setRole(of: person.id, to: .reader)
        try await will.engine.putUnsent()
        try await olga.engine.setRole(of: person.id, to: .writer)

        let again = try Device(person, "desk", number: 77, vault: world.vault, remote: world.remote)
        let next = LogID(low: 78, high: 78)
        again.setup.newLog = { next }
        again.restart()
        // Ids that the first device has not used.
        for _ in 0..<20 { _ = again.id() }
        try await again.writes("more", "3")
        for device in [again, olga, again] { try await device.sync() }
        #expect(await again.engine.logs.own == next)
        #expect(await again.files() == ["kept": "1", "more": "3"])
        #expect(await olga.files() == ["kept": "1", "more": "3"])
        #expect(await again.stateHash() == olga.stateHash())
        for device in [again, olga] {
            let labels = await device.engine.status.devices.compactMap(\.author.label).sorted()
            #expect(labels == ["desk", "laptop"])
        }
    }

    /// The id of a new log cannot be saved: nothing is sent, and that is reported.
    @Test func withoutAnotherLogNothingIsSent() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let person = try await world.adds("Will", .writer)
        let will = try Device(person, "desk", number: 77, vault: world.vault, remote: world.remote)
        for device in [olga, will] { try await device.sync() }
        try await will.writes("late", "2")
        #expect(try await will.engine.makeCommit(isNeeded: false))
        try await olga.engine.setRole(of: person.id, to: .reader)
        try await will.engine.putUnsent()
        try await olga.engine.setRole(of: person.id, to: .writer)
        let again = try Device(person, "desk", number: 77, vault: world.vault, remote: world.remote)
        try await again.writes("more", "3")
        await #expect(throws: SyncError.self) { try await again.sync() }
        #expect(await again.replica.hasUnsent())
        #expect(await again.engine.status.failure != nil)
    }
}
