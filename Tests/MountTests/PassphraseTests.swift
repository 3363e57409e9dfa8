import Foundation
import Testing

extension MountTests {
    /// The sources of passphrases, and the consequences of wrong ones.
    @Suite struct PassphraseTests {
        private func withStatus(_ body: (MountedProfile, Command) throws -> Void) throws {
            try withProfile(mounted: nil) { profile in
                try body(profile, try profile.command("status", "--json", passphrase: false))
            }
        }

        @Test func fromStandardInput() throws {
            try withStatus { _, status in
                var status = status
                status.arguments += ["--passphrase-file", "-"]
                // One newline is not part of it; a second is.
                status.input = MountedProfile.passphrase
                try status.succeed()
                status.input += "\n"
                try status.succeed()
                status.input += "\n"
                try status.fail(with: 77)
            }
        }

        @Test func fromADescriptor() throws {
            try withStatus { profile, status in
                let file = open(profile.passphraseFile, O_RDONLY | O_CLOEXEC)
                defer { close(file) }
                var status = status
                status.arguments += ["--passphrase-descriptor", "7"]
                status.descriptors = [7: file]
                try status.succeed()
                status.descriptors = [:]
                try status.fail(with: 74)
            }
        }

        @Test func fromTheEnvironment() throws {
            try withStatus { profile, status in
                var status = status
                status.environment["COFFER_PASSPHRASE_FILE"] = profile.passphraseFile
                try status.succeed()
            }
        }

        @Test func fromACredentialOfSystemd() throws {
            try withStatus { profile, status in
                let directory = "\(profile.base)/credentials"
                try Files.makeDirectory(directory)
                var status = status
                status.environment["CREDENTIALS_DIRECTORY"] = directory
                try status.fail(with: 64)
                try Files.write(MountedProfile.passphrase, to: "\(directory)/coffer.passphrase")
                try status.succeed()
            }
        }

        @Test func optionComesBeforeTheEnvironment() throws {
            try withStatus { profile, status in
                var status = status
                status.environment["COFFER_PASSPHRASE_FILE"] = "\(profile.base)/none"
                status.arguments += ["--passphrase-file", profile.passphraseFile]
                try status.succeed()
            }
        }

        @Test func nothingToReadItFrom() throws {
            try withStatus { profile, status in
                try Files.write("\n", to: "\(profile.base)/empty")
                try Files.makeDirectory("\(profile.base)/directory")
                try Files.write(pattern(5000), to: "\(profile.base)/endless")
                for (name, code) in [("none", 74), ("directory", 74), ("endless", 74), ("empty", 77)] {
                    var status = status
                    status.arguments += ["--passphrase-file", "\(profile.base)/\(name)"]
                    let result = try status.fail(with: Int32(code))
                    #expect(result.error.hasPrefix("coffer: "), "\(name)")
                    #expect(result.lines == [], "\(name)")
                }
                // None of them counted as an attempt.
                #expect(profile.attempts == 0)
            }
        }

        @Test(.enabled(if: !Machine.isRoot, "root reads every file"))
        func unreadableFile() throws {
            try withStatus { profile, status in
                chmod(profile.passphraseFile, 0)
                var status = status
                status.arguments += ["--passphrase-file", profile.passphraseFile]
                try status.fail(with: 74)
            }
        }

        @Test func wrongPassphrasesAreSlowedDown() throws {
            try withProfile(mounted: nil) { profile in
                try profile.command(
                    "passphrase", "--new-passphrase-file", profile.passphraseFile, "--strength",
                    "interactive",
                    "--hint", "four words"
                ).succeed()
                try Files.write("wrong", to: "\(profile.base)/wrong")
                var mount = try profile.command("mount", profile.point, passphrase: false)
                mount.arguments += ["--passphrase-file", "\(profile.base)/wrong"]
                for attempt in 1...3 {
                    let result = try mount.fail(with: 77)
                    #expect(result.error.contains("four words") == (attempt == 3), "\(result.error)")
                }
                #expect(try mount.fail(with: 75).error.contains("second"))
                // The right one has to wait, too; otherwise an attacker could skip the wait.
                try profile.command("mount", profile.point).fail(with: 75)
                try Files.remove("\(profile.home)/attempts")
                try profile.mount()
                #expect(profile.attempts == 0)
            }
        }

        @Test(arguments: [false, true])
        func change(isMounted: Bool) throws {
            try withProfile(mounted: isMounted ? "rw" : nil) { profile in
                if isMounted { try Files.write("kept", to: profile.path("file")) }
                let new = "\(profile.base)/new"
                try Files.write("another horse", to: new)
                let words = ["--new-passphrase-file", new, "--strength", "interactive"]
                var change = try profile.command("passphrase")
                change.arguments += words
                try change.succeed()
                // The old passphrase no longer works.
                try change.fail(with: 77)
                if isMounted {
                    #expect(try Files.text(profile.path("file")) == "kept")
                    try profile.unmount()
                }
                try profile.command("mount", profile.point).fail(with: 77)
                try Files.write("another horse", to: profile.passphraseFile)
                try profile.mount()
            }
        }
    }
}
