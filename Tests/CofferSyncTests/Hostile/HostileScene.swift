import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

import CofferSync

/// Two members that share a vault with Mallory, who may write, and whose log may be hostile.
struct HostileScene {
    let world: SyncWorld
    let olga: Device
    let will: Device
    let mallory: Person
    let log = LogID(low: 666, high: 6)

    var first: Dot { Dot(log: log, sequence: 1) }
    func introduction() throws -> LogIntroduction { try LogIntroduction(name: "Mallory", label: "den") }

    init() async throws {
        world = try await SyncWorld()
        olga = try world.device(world.owner, "laptop")
        will = try world.device(try await world.adds("Will", .writer), "desk")
        mallory = try await world.adds("Mallory", .writer)
    }

    /// A commit of Mallory's that makes a file, the first of her log.
    func forged(_ number: UInt64, _ name: String) throws -> [UInt8] {
        try world.forge(
            mallory, at: first, facts: try fileFacts(number, name), introduction: try introduction())
    }

    /// Lets the others exchange files; returns the problem reported for Mallory's log.
    func othersGoOn(_ round: Int = 1) async throws -> CommitProblem? {
        try await olga.writes("o\(round)", "1")
        try await olga.sync()
        try await will.writes("w\(round)", "2")
        try await will.sync()
        try await olga.sync()
        #expect(await olga.stateHash() == will.stateHash())
        let files = await olga.files()
        #expect(files["o\(round)"] == "1" && files["w\(round)"] == "2")
        for device in [olga, will] {
            #expect(
                await device.findings().contains {
                    "\($0)".contains(log.description) || "\($0)".contains("Mallory")
                })
        }
        for case .stopped(let author, _, let problem) in await will.findings() where author.log == log {
            return problem
        }
        return nil
    }
}
