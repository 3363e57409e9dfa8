import Foundation
import Testing

extension MountTests {
    /// Who changed what, as `coffer history` tells it, with two people who share a vault.
    @Suite struct HistoryAuthorTests {
        private struct Report: Decodable {
            struct Author: Decodable, Equatable {
                let text: String
                let name: String?
                let device: String?
                let identity: String?
            }
            struct State: Decodable {
                let change: String?
                let by: [Author]
                let endedBy: [Author]
            }
            let states: [State]
        }

        @Test func versionsNameWhoMadeThem() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                let profile = alice.profile
                try Files.makeDirectory(alice.path("folder"))
                try Files.write("one", to: alice.path("folder/one"))
                try members.sync()
                try profile.command("vault", "set", "--history", "14d", "Plans").succeed()
                // A command makes the present state one that is kept; times are given in seconds.
                func next() throws {
                    try members.sync()
                    try profile.command("history", "Plans").succeed()
                    Thread.sleep(forTimeInterval: 1.1)
                }
                try next()
                try Files.write("his", to: bob.path("folder/one"))
                try next()
                try Files.write("hers", to: alice.path("folder/one"))
                try next()
                try Files.move(bob.path("folder/one"), to: bob.path("moved"))
                try next()
                try Files.remove(bob.path("moved"))
                try Files.write("new", to: alice.path("folder/new"))
                try next()

                func report(_ path: String) throws -> [Report.State] {
                    let output = try profile.command("history", "--json", path).succeed().output
                    return try JSONDecoder().decode(Report.self, from: Data(output.utf8)).states
                }
                let one = try report("Plans/folder/one")
                #expect(one.map(\.change) == [nil, "changed", "changed", "moved"])
                #expect(
                    one.map { $0.by.map(\.text) } == [
                        [], ["Bob's laptop"], ["Alice's laptop"], ["Bob's laptop"],
                    ])
                #expect(one[1].by.map(\.name) == ["Bob"] && one[1].by.map(\.device) == ["Bob's laptop"])
                #expect(one[1].by[0].identity?.count == 64 && one[1].by[0].identity != one[2].by[0].identity)
                let moved = try report("Plans/moved")
                #expect(moved.map(\.change) == [nil, "moved", "removed"])
                #expect(moved.dropFirst().allSatisfy { $0.by.map(\.text) == ["Bob's laptop"] })
                let new = try report("Plans/folder/new")
                #expect(new.map(\.change) == [nil, "created"])
                #expect(new[1].by.map(\.text) == ["Alice's laptop"])
                let states = try report("Plans")
                #expect(
                    states.suffix(5).map { Set($0.endedBy.map(\.text)) } == [
                        ["Bob's laptop"], ["Alice's laptop"], ["Bob's laptop"],
                        ["Alice's laptop", "Bob's laptop"], [],
                    ])

                let lines = try profile.command("history", "Plans/folder/one").succeed().lines
                #expect(lines[0].hasSuffix("CHANGE   BY"), "\(lines)")
                #expect(lines[2].hasSuffix("changed  Bob's laptop"), "\(lines)")
                #expect(lines[3].hasSuffix("changed  Alice's laptop"), "\(lines)")
                let ends = try profile.command("history", "Plans").succeed().lines
                #expect(ends[0].contains("  ENDED BY  "), "\(ends)")
                try profile.command("check").succeed()
            }
        }
    }
}
