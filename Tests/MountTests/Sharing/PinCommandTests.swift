import Foundation
import Testing

extension MountTests {
    /// `coffer pin`, `unpin` and `evict`: paths in the mount, paths as VAULT/PATH, and output for scripts.
    @Suite struct PinCommandTests {
        @Test func pinnedContentStaysAndTheRestIsEvicted() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                let bytes = pattern(3_000_000)
                try Files.makeDirectory(alice.path("kept"))
                try Files.write(bytes, to: alice.path("kept/one"))
                try Files.write(bytes, to: alice.path("two"))
                try members.sync()
                let vault = try #require(bob.path("x").split(separator: "/").dropLast().last).description
                let pin = try bob.profile.command("pin", "--json", bob.path("kept"), "\(vault)/two").succeed()
                let reports = try pin.decode([Pin].self)
                #expect(
                    Set(reports.map(\.path)) == ["kept", "two"] && reports.allSatisfy { $0.vault == vault })
                #expect(reports.map(\.bytes) == [3_000_000, 3_000_000])
                #expect(reports.map(\.missingBytes) == [0, 0])
                let info = try bob.profile.command("vault", "info", vault).succeed().output
                #expect(info.contains("Pinned   2 files, 6.0 MB\n"), "\(info)")
                // The pin outlasts the mount.
                try bob.profile.command("unpin", bob.path("two")).succeed()
                try bob.profile.command("unpin", bob.path("two")).fail(with: 66)
                try bob.profile.unmount()
                try bob.mount()
                let list = try bob.profile.command("pin", "--list").succeed()
                #expect(list.lines.count == 2 && list.lines[1].contains("kept"), "\(list.output)")
                // An exit code reports what stays; evicted content is fetched when it is read.
                let evict = try bob.profile.command("evict", "--json", vault).fail(with: 1)
                let report = try #require(try evict.decode([Evicted].self).first)
                #expect(report.evictedBytes == 3_000_000)
                #expect(report.kept.map(\.reason) == ["pinned"] && report.kept.map(\.bytes) == [3_000_000])
                let again = try bob.profile.command("evict", "\(vault)/two").succeed()
                #expect(again.output == "\(vault): 0 B evicted\n", "\(again.output)")
                let isSame = try Files.read(bob.path("two")) == bytes
                #expect(isSame)
            }
        }

        /// A failure in one vault does not affect the request for the other vaults.
        @Test func otherVaultsAreDone() throws {
            try withMembers { members in
                let bob = members.bob
                try Files.write("text", to: members.alice.path("file"))
                try members.sync()
                let paths = ["None/x", "Plans/file"]
                for words in [["pin"], ["unpin"], ["evict"]] {
                    let result = try Command(
                        try Programs.coffer(), words + paths + ["--home", bob.profile.home]
                    ).fail(with: 66)
                    #expect(result.error.contains("None"), "\(result.error)")
                    let list = try bob.profile.command("pin", "--list").succeed()
                    #expect(list.output.contains("file") == (words == ["pin"]), "\(words): \(list.output)")
                    if words == ["evict"] {
                        #expect(result.output == "Plans: 4 B evicted\n", "\(result.output)")
                    }
                }
            }
        }

        @Test func contradictoryArguments() throws {
            try withMountedProfile { profile in
                try profile.command("pin").fail(with: 64)
                try profile.command("pin", "--list", "Personal").fail(with: 64)
                try profile.command("pin", profile.point).fail(with: 64)
                try profile.command("pin", "/etc/passwd").fail(with: 64)
                try profile.command("evict", "None/x").fail(with: 66)
                // Without a remote, all content is local.
                try profile.command("pin", "Personal").fail(with: 66)
                let list = try profile.command("pin", "--list").succeed()
                #expect(list.output.isEmpty && list.error == "Nothing is pinned.\n")
                #expect(try profile.command("pin", "--list", "--json").succeed().output == "[\n\n]\n")
            }
        }

        private struct Pin: Decodable {
            let vault: String
            let path: String
            let bytes: Int64
            let missingBytes: Int64
        }

        private struct Evicted: Decodable {
            let evictedBytes: Int64
            let kept: [Kept]

            struct Kept: Decodable {
                let reason: String
                let bytes: Int64
            }
        }
    }
}
