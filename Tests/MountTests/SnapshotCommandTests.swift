import Foundation
import Testing

extension MountTests {
    /// `coffer snapshot`, and names of snapshots in other commands and in the mount.
    @Suite struct SnapshotCommandTests {
        private struct Snapshot: Decodable {
            let vault: String
            let name: String
            let until: Int64?
        }

        private struct History: Decodable {
            let states: [State]

            struct State: Decodable {
                let until: Int64?
                let snapshots: [String]
            }
        }

        private func lines(_ profile: MountedProfile, diff from: String, _ to: String...) throws -> [String] {
            var command = try profile.command("diff", "Personal", "--from", from)
            command.arguments += to.flatMap { ["--to", $0] }
            return try command.succeed().lines
        }

        @Test func namesInCommandsAndInTheMount() throws {
            try withMountedProfile { profile in
                let history = "\(profile.vault)/.coffer/history"
                let off = try profile.command("snapshot", "Personal", "first").fail(with: 66)
                #expect(off.error.contains("coffer vault set --history 14d Personal"))
                try profile.command("vault", "set", "--history", "14d", "Personal").succeed()
                // What only the kernel has is in it, too. A command closes its copies of open files, and so
                // stores what was written to them, but not what was written into memory.
                let file = open(profile.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                try Files.check(pwrite(file, "older", 5, 0), "file")
                let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                close(file)
                let mapped = try #require(memory == MAP_FAILED ? nil : memory)
                memcpy(mapped, "first", 5)
                try profile.command("snapshot", "Personal", "first").succeed()
                memcpy(mapped, "later", 5)
                munmap(mapped, 4096)
                try Files.write("new", to: profile.path("new"))
                #expect(try Files.text("\(history)/first/file") == "first")
                #expect(try Files.names("\(history)/first") == ["file"])
                #expect(try Files.names(history).contains("first"))
                try profile.command("snapshot", "create", "Personal", "the second").succeed()
                #expect(try lines(profile, diff: "first") == ["M file", "+ new"])
                #expect(try lines(profile, diff: "first", "the second") == ["M file", "+ new"])
                #expect(try lines(profile, diff: "the second") == [])
                try profile.command("restore", "Personal", "--at", "first", "--exact").succeed()
                #expect(try Files.names(profile.vault) == ["file"])
                #expect(try Files.text(profile.path("file")) == "first")
                // Two names of the present state, of which no other change makes a past one.
                for name in ["third", "again"] {
                    try profile.command("snapshot", "Personal", name).succeed()
                    #expect(try Files.text("\(history)/\(name)/file") == "first")
                }
                let states = try profile.command("history", "Personal", "--json").succeed()
                    .decode(History.self).states
                #expect(
                    states.map(\.snapshots).filter { !$0.isEmpty } == [
                        ["first"], ["the second"], ["third", "again"],
                    ])
                #expect(states.last?.snapshots == ["third", "again"])
                let table = try profile.command("history", "Personal").succeed().lines
                #expect(table.contains { $0.hasSuffix("the second") })
                let list = try profile.command("snapshot", "list", "--json").succeed().decode([Snapshot].self)
                #expect(list.map(\.name) == ["first", "the second", "third", "again"])
                #expect(list.map { $0.until == nil } == [false, false, true, true])
                #expect(try profile.command("snapshot", "list", "Personal").succeed().lines.count == 5)
                let info = try profile.command("vault", "info", "Personal").succeed().lines
                #expect(info.contains { $0.hasPrefix("History") && $0.hasSuffix("4 snapshots") })
                try profile.command("check").succeed()
                try profile.command("vault", "rename", "Personal", "Other").succeed()
                let renamed = try profile.command("snapshot", "list", "Other", "--json").succeed()
                #expect(try renamed.decode([Snapshot].self).allSatisfy { $0.vault == "Other" })
                try profile.command("vault", "rename", "Other", "Personal").succeed()
                try profile.remount("ro")
                try profile.command("snapshot", "Personal", "more").fail(with: 74)
                try profile.command("snapshot", "remove", "Personal", "first").fail(with: 74)
                #expect(try Files.text("\(history)/the second/file") == "later")
                #expect(try profile.command("snapshot", "list").succeed().lines.count == 5)
            }
        }

        /// A program that looks the name up at once gets the state that has it now.
        @Test func aNameIsGivenToAnotherState() throws {
            try withMountedProfile { profile in
                let past = "\(profile.vault)/.coffer/history/name"
                try profile.command("vault", "set", "--history", "14d", "Personal").succeed()
                for text in ["first", "second", "third"] {
                    try Files.write(text, to: profile.path("file"))
                    #expect(!Files.exists(past))
                    try profile.command("snapshot", "Personal", "name").succeed()
                    #expect(try Files.text("\(past)/file") == text)
                    try Files.write("after the \(text)", to: profile.path("file"))
                    #expect(try Files.text("\(past)/file") == text)
                    try profile.command("snapshot", "remove", "Personal", "name").succeed()
                    #expect(!Files.exists(past))
                }
            }
        }

        @Test(arguments: [true, false])
        func mistakes(isMounted: Bool) throws {
            try withProfile(mounted: isMounted ? "rw" : nil) { profile in
                #expect(try profile.command("snapshot", "list").succeed().error.contains("no snapshots"))
                try profile.command("vault", "set", "--history", "14d", "Personal").succeed()
                try profile.command("snapshot", "Personal", "a name").succeed()
                let taken = try profile.command("snapshot", "Personal", "a name").fail(with: 73)
                #expect(taken.error.contains("coffer snapshot remove Personal 'a name'"))
                let long = String(repeating: "x", count: 101)
                for name in ["a/b", ".", "..", "", "now", "2h", "14:05", "2026-11-20", "a\nb", long] {
                    try profile.command("snapshot", "Personal", name).fail(with: 64)
                    try profile.command("snapshot", "remove", "Personal", name).fail(with: 66)
                }
                try profile.command("snapshot", "None", "name").fail(with: 66)
                try profile.command("snapshot", "list", "None").fail(with: 66)
                try profile.command("snapshot", "remove", "None", "name").fail(with: 66)
                try profile.command("diff", "Personal", "--from", "a nam").fail(with: 66)
                let kept = try profile.command("vault", "set", "--history", "none", "Personal").fail(with: 73)
                #expect(kept.error.contains("“a name”"))
                // A shorter time does not remove it.
                try profile.command("vault", "set", "--history", "1s", "Personal").succeed()
                #expect(try lines(profile, diff: "a name") == [])
                try profile.command("snapshot", "remove", "Personal", "a name").succeed()
                try profile.command("diff", "Personal", "--from", "a name").fail(with: 66)
                try profile.command("vault", "set", "--history", "none", "Personal").succeed()
            }
        }
    }
}
