import Foundation
import Testing

extension MountTests {
    /// Unusable profiles, and what commands say about them.
    @Suite struct ProfileTests {
        @Test func noProfile() throws {
            try withProfile(mounted: nil) { profile in
                for words in [
                    ["mount", profile.point], ["status"], ["check"], ["vault", "list"], ["passphrase"],
                ] {
                    var command = Command(try Programs.coffer(), words + ["--home", "\(profile.base)/none"])
                    command.arguments += ["--passphrase-file", profile.passphraseFile]
                    let result = try command.fail(with: 66)
                    #expect(result.error.contains("coffer init"), "\(words)")
                }
                #expect(!Files.exists("\(profile.base)/none"))
                #expect(!Files.exists(profile.point))
            }
        }

        @Test func secondProfileInOnePlace() throws {
            try withProfile(mounted: nil) { profile in
                let before = try Files.read("\(profile.home)/profile")
                try profile.command("init", "--strength", "interactive").fail(with: 73)
                #expect(try Files.read("\(profile.home)/profile") == before)
            }
        }

        @Test func profileOfANewerVersion() throws {
            try withProfile(mounted: nil) { profile in
                var bytes = try Files.read("\(profile.home)/profile")
                bytes[8] = 2
                try Files.write(bytes, to: "\(profile.home)/profile")
                let result = try profile.command("mount", profile.point).fail(with: 65)
                #expect(result.error.contains("Update coffer"))
                // The command does not ask for the passphrase of a newer profile in vain.
                #expect(profile.attempts == 0)
            }
        }

        @Test func damagedProfile() throws {
            try withProfile(mounted: nil) { profile in
                let bytes = try Files.read("\(profile.home)/profile")
                for damaged in [[], Array(bytes.prefix(100)), Array(bytes.dropLast()), bytes + [0]] {
                    try Files.write(damaged, to: "\(profile.home)/profile")
                    try profile.command("mount", profile.point).fail(with: 65)
                }
                try Files.write(bytes, to: "\(profile.home)/profile")
                try profile.mount()
            }
        }

        @Test func environmentSaysWhereTheProfileIs() throws {
            try withProfile(mounted: nil) { profile in
                var status = Command(
                    try Programs.coffer(), ["status", "--json", "--passphrase-file", profile.passphraseFile])
                status.environment["COFFER_HOME"] = profile.home
                #expect(try status.succeed().decode(StatusReport.self).profile == profile.home)
                status.environment = ["XDG_DATA_HOME": "\(profile.base)/none"]
                try status.fail(with: 66)
                status.environment = [:]
                try status.fail(with: 64)
            }
        }

        @Test func wrongUsage() throws {
            for words in [
                ["no-such-command"], ["mount"], ["init", "--strength", "weak"], ["vault", "rename", "a"],
            ] {
                let result = try Command(try Programs.coffer(), words).fail(with: 64)
                #expect(result.output == "", "what is wrong is no result: \(words)")
            }
            #expect(try Command(try Programs.coffer(), ["--help"]).succeed().output.contains("Exit codes"))
            #expect(try Command(try Programs.coffer(), ["--version"]).succeed().lines.count == 1)
        }

        /// Deletion is irreversible, so the command asks, unless --yes is given.
        @Test func deletingAsks() throws {
            try withMountedProfile { profile in
                try profile.command("vault", "delete", "Personal").fail(with: 64)
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        @Test func profileIsPrivate() throws {
            try withMountedProfile { profile in
                let socket = try #require(try profile.lockNote().last)
                for path in [profile.home, "\(profile.home)/profile", "\(profile.home)/vaults", socket] {
                    var status = stat()
                    #expect(stat(path, &status) == 0)
                    #expect(status.st_mode & 0o077 == 0, "\(path)")
                }
                for path in try Files.all(below: profile.home) {
                    var status = stat()
                    #expect(stat(path, &status) == 0)
                    #expect(status.st_mode & 0o077 == 0, "\(path)")
                }
                try profile.unmount()
                #expect(!Files.exists(socket))
            }
        }
    }
}
