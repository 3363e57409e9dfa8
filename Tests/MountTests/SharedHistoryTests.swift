import Testing

extension MountTests {
    /// How long the past is kept, as owners say it for all members.
    @Suite struct SharedHistoryTests {
        /// What `coffer vault info` says of the history.
        private func history(of member: Member) throws -> String {
            let lines = try member.coffer("vault", "info", "Plans").succeed().lines
            return lines.first { $0.hasPrefix("History") } ?? ""
        }

        private func expect(
            _ text: String, for member: Member, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            // The mount applies it after the round in which it arrives.
            #expect(
                Processes.waitUntil { (try? history(of: member).contains(text)) == true },
                "\(member.name): \((try? history(of: member)) ?? "")", sourceLocation: sourceLocation)
        }

        @Test func anOwnerSetsItForAll() throws {
            try withMembers(["Alice", "Bob", "Carol"]) { members in
                let (alice, bob, carol) = (members.alice, members.bob, members.all[2])
                // Nobody has said anything yet, so it is his own affair.
                try bob.coffer("vault", "set", "--history", "1d", "Plans").succeed()
                try members.sync()
                #expect(try history(of: alice) == "" && history(of: carol) == "")
                try alice.coffer("vault", "set", "--history", "14d", "Plans").succeed()
                try members.sync()
                for member in members.all {
                    expect("kept for 2w", for: member)
                    #expect(Files.exists(member.path(".coffer/history/now")))
                }
                let refused = try bob.coffer("vault", "set", "--history", "none", "Plans").fail(with: 77)
                #expect(refused.error.contains("set how long the past is kept"))
                expect("kept for 2w", for: bob)
                // What is set already may be asked for by anybody.
                try bob.coffer("vault", "set", "--history", "2w", "Plans").succeed()

                try bob.coffer("snapshot", "Plans", "mine").succeed()
                try alice.coffer("vault", "set", "--history", "none", "Plans").succeed()
                try members.sync()
                #expect(Processes.waitUntil { !Files.exists(carol.path(".coffer/history/now")) })
                #expect(!Files.exists(alice.path(".coffer/history/now")))
                expect("kept for 1s, 1 snapshot", for: bob)
                #expect(Files.exists(bob.path(".coffer/history/mine")))
                try bob.coffer("snapshot", "remove", "Plans", "mine").succeed()
                try bob.sync()
                #expect(Processes.waitUntil { !Files.exists(bob.path(".coffer/history/now")) })
            }
        }

        /// It goes with the vault to the remote; there, nothing changes while the remote is away.
        @Test func itIsPublishedAndWaitsForTheRemote() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                try Files.makeDirectory("\(alice.profile.point)/Old")
                try alice.coffer("vault", "set", "--history", "forever", "Old").succeed()
                try alice.coffer("remote", "add", "Old", "file://\(alice.way)").succeed()
                let invite = try alice.coffer("member", "invite", "Old", "--role", "reader").succeed()
                try bob.coffer("join", invite.lines[0], "--as", "Old").succeed()
                #expect(
                    Processes.waitUntil {
                        (try? bob.coffer("vault", "info", "Old").succeed().output.contains("kept forever"))
                            == true
                    })
                try alice.lead(to: alice.way)
                try alice.coffer("vault", "set", "--history", "none", "Plans").fail(with: 74)
                try alice.coffer("vault", "set", "--history", "1w", "Old").fail(with: 74)
                let info = try alice.coffer("vault", "info", "Old").succeed()
                #expect(info.output.contains("kept forever"))
                try alice.lead(to: members.folder)
                try alice.coffer("vault", "set", "--history", "1w", "Old").succeed()
                try bob.coffer("sync", "Old").succeed()
                #expect(
                    Processes.waitUntil {
                        (try? bob.coffer("vault", "info", "Old").succeed().output.contains("kept for 1w"))
                            == true
                    })
                // The second vault has its own descriptors.
                for member in members.all { try member.profile.noteMounted() }
            }
        }

        /// The same without a mount: the members are asked, and told, by the command itself.
        @Test func itIsSetWithoutAMount() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                try alice.profile.unmount()
                try alice.profile.command("vault", "set", "--history", "14d", "Plans").succeed()
                try bob.sync()
                expect("kept for 2w", for: bob)
                try bob.profile.unmount()
                let refused = try bob.profile.command("vault", "set", "--history", "none", "Plans").fail(
                    with: 77)
                #expect(refused.error.contains("set how long the past is kept"))
                for member in members.all { try member.mount() }
                for member in members.all { expect("kept for 2w", for: member) }
            }
        }
    }
}
