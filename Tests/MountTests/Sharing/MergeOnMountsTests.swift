import MergeCases
import Testing

extension MountTests {
    /// The merge table, through three mounts that share a vault.
    @Suite struct MergeOnMountsTests {
        /// All cases run at once, each in its own directory, as going offline and syncing takes seconds.
        @Test func allRows() throws {
            try withMembers(["Alice", "Bob", "Carol"]) { members in
                for member in members.all { member.profile.expectsProblems = true }
                let cases = MergeCase.onVaults
                for number in cases.indices { try Files.makeDirectory(members.alice.path("\(number)")) }
                try members.sync()
                try members.part()
                let people = members.all.map { (label: $0.device, vault: $0.path()) }
                let failures = MergeCase.play(cases) { number in
                    zip(["owner", "member", "guest"], people).map { name, person in
                        MountedFiles(name, label: person.label, in: "\(person.vault)\(number)")
                    }
                } meet: {
                    try members.meet()
                    // Content is fetched when it is read; later writes to it need no remote.
                    for member in members.all {
                        for file in try Files.all(below: member.path()) { _ = try Files.read(file) }
                    }
                    try members.part()
                }
                for (row, failure) in failures { Issue.record("\(row): \(failure)") }
                try members.meet()
                for member in members.all {
                    let conflicts = try member.coffer("conflicts").succeed()
                    #expect(conflicts.output.contains("a (conflict, Alice's laptop, "))
                }
            }
        }
    }
}
