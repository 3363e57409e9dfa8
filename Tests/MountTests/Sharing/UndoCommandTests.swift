import Foundation
import Testing

extension MountTests {
    /// `coffer undo`, and the authors that `coffer history` names, with two people who share a vault.
    @Suite struct UndoCommandTests {
        @Test func whatAMemberDidIsTakenBack() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                let profile = alice.profile
                try Files.makeDirectory(alice.path("folder"))
                for name in ["folder/one", "folder/two", "three", "four"] {
                    try Files.write(name, to: alice.path(name))
                }
                try members.sync()
                try profile.command("vault", "set", "--history", "14d", "Plans").succeed()
                Thread.sleep(forTimeInterval: 1.1)
                let time = Date().ISO8601Format()
                Thread.sleep(forTimeInterval: 1.1)
                try profile.command("history", "Plans").succeed()
                try Files.remove(bob.path("folder/one"))
                try Files.write("nonsense", to: bob.path("folder/two"))
                try Files.move(bob.path("three"), to: bob.path("folder/thirteen"))
                try Files.write("his", to: bob.path("four"))
                try Files.write("his", to: bob.path("new"))
                try members.sync()
                try Files.write("hers", to: alice.path("four"))
                try Files.write("hers", to: alice.path("folder/hers"))
                try members.sync()

                let versions = try profile.command("history", "Plans/folder/two").succeed().output
                #expect(versions.contains("changed") && versions.contains("Bob's laptop"), "\(versions)")
                let states = try profile.command("history", "Plans").succeed().output
                #expect(states.contains("Bob's laptop"), "\(states)")

                func undo(_ author: String, _ more: String...) throws -> Command {
                    var command = try profile.command("undo", "Plans", "--since", time, "--by", author)
                    command.arguments += more
                    return command
                }
                let unknown = try undo("Mallory").fail(with: 66)
                #expect(unknown.error.contains("“Bob's laptop”"), "\(unknown.error)")
                try profile.command("undo", "Plans", "--since", time).fail(with: 64)
                let steps = ["+ folder/one", "- new", "> three", "M folder/two"]
                let rehearsal = try undo("Bob", "--dry-run").succeed()
                #expect(rehearsal.lines.sorted() == steps, "\(rehearsal.output)")
                #expect(try Files.text(alice.path("folder/two")) == "nonsense")
                let done = try undo("Bob's laptop").succeed()
                #expect(done.lines.sorted() == steps, "\(done.output)")
                #expect(done.error.contains("four: stays as it is"), "\(done.error)")
                try members.sync()
                for member in members.all {
                    #expect(try Files.names(member.path()) == ["folder", "four", "three"])
                    #expect(try Files.names(member.path("folder")) == ["hers", "one", "two"])
                    for name in ["folder/one", "folder/two", "three"] {
                        #expect(try Files.text(member.path(name)) == name)
                    }
                    #expect(try Files.text(member.path("four")) == "hers")
                }
                try profile.command("check").succeed()
            }
        }
    }
}
