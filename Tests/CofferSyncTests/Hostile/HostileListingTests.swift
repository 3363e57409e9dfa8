import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

import CofferSync

/// Listings of a hostile storage: invalid names, and pages without end.
struct HostileListingTests {
    @Test func impossibleNumbersAreNoNames() async throws {
        let scene = try await HostileScene()
        try await scene.will.writes("w", "1")
        try await scene.will.sync()
        let layout = scene.world.layout
        for log in [scene.log, scene.will.log, scene.olga.log] {
            let numbers: [UInt64] = [.max, .max - 1, 1 << 63, Dot.sequenceMax + 1]
            for sequence in numbers {
                try await scene.world.remote.put(layout.commit(log, sequence), .memory([1]), ifAbsent: true)
                try await scene.world.remote.put(
                    layout.checkpoint(log, sequence), .memory([1]), ifAbsent: true)
            }
        }
        for device in [scene.olga, scene.will, scene.olga] { try await device.sync() }
        #expect(await scene.olga.files() == ["w": "1"])
        #expect(await scene.olga.findings().isEmpty)
        // The highest valid numbers: the commits before them are missing.
        for log in [scene.log, LogID(low: 667, high: 6)] {
            try await scene.world.put([1], at: Dot(log: log, sequence: Dot.sequenceMax))
        }
        try await scene.olga.writes("o", "1")
        for device in [scene.olga, scene.will] { try await device.sync() }
        #expect(await scene.will.files().count == 2)
        #expect(await scene.olga.engine.status.progress.commitsLeft > 1 << 62)
    }

    /// Malformed log names, more than are examined at a time, sort before a valid one.
    @Test func malformedLogNamesHideNoLogs() async throws {
        let scene = try await HostileScene()
        try await scene.olga.sync()
        for number in 0..<1100 as Range<UInt64> {
            try await scene.world.put([1], at: Dot(log: LogID(low: number << 8, high: 0), sequence: 1))
        }
        try await scene.will.writes("w", "1")
        try await scene.will.sync()
        for _ in 0..<2 { try await scene.olga.sync() }
        #expect(await scene.olga.files() == ["w": "1"])
        // Once more, now that other logs are known.
        let third = try scene.world.device(scene.world.owner, "third")
        try await third.writes("t", "2")
        try await third.sync()
        for _ in 0..<2 { try await scene.olga.sync() }
        #expect(await scene.olga.files() == ["w": "1", "t": "2"])
        // None of this counts as waiting to be applied.
        #expect(await scene.olga.engine.status.progress.commitsLeft == 0)
    }

    @Test func endlessListingsEnd() async throws {
        let scene = try await HostileScene()
        try await scene.will.writes("w", "1")
        try await scene.will.sync()
        scene.olga.restart(remote: CircularListing(base: scene.world.remote))
        do {
            try await scene.olga.sync()
            Issue.record("the listing had an end")
        } catch {
            #expect("\(error)".contains("a listing goes back"))
        }
    }
}
