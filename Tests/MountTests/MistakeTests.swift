import Foundation
import Testing

extension MountTests {
    /// What commands answer to mistakes, and to words that could mean two things.
    @Suite struct MistakeTests {
        /// Runs `coffer` in a directory.
        private func run(
            _ words: [String], in directory: String, _ variables: [String: String] = [:]
        ) throws -> Command.Result {
            let script = #"cd "$1" && shift && exec env -u USER -u LOGNAME "$@" </dev/null"#
            let settings = variables.map { "\($0)=\($1)" }
            return try Command(
                "/bin/sh", ["-c", script, "sh", directory] + settings + [try Programs.coffer()] + words
            ).run()
        }

        /// A directory is tested without a profile, and a vault of the mount comes before a directory.
        @Test func aTestOfANameWithoutASlash() throws {
            try withMountedProfile { profile in
                let place = "\(profile.base)/here"
                try Files.makeDirectory(place)
                for name in ["store", "Personal"] { try Files.makeDirectory("\(place)/\(name)") }
                let none = ["--home", "\(profile.base)/none"]
                let directory = try run(["remote", "test", "store"] + none, in: place)
                #expect(directory.status == 0, "\(directory.error)")
                #expect(directory.output.contains("\(place)/store"), "\(directory.output)")
                let vault = try run(["remote", "test", "Personal", "--home", profile.home], in: place)
                #expect(
                    vault.status == 66 && vault.error.contains("“Personal” has no remote"), "\(vault.error)")
                let path = try run(["remote", "test", "./Personal", "--home", profile.home], in: place)
                #expect(path.status == 0, "\(path.error)")
                #expect(try run(["remote", "test", "nothing"] + none, in: place).status == 66)
            }
        }

        @Test func relativePathsAreShownWithoutDots() throws {
            try withProfile(mounted: nil) { profile in
                let place = "\(profile.base)/here"
                try Files.makeDirectory(place)
                try Files.makeDirectory("\(place)/store")
                let home = ["--home", profile.home, "--passphrase-file", profile.passphraseFile]
                #expect(
                    try run(["remote", "add", "Personal", "./../here/./store"] + home, in: place).status == 0)
                let list = try run(["remote", "list"] + home, in: place).output
                #expect(list.contains("file://\(place)/store") && !list.contains("/."), "\(list)")
            }
        }

        @Test func mistakesSayTheirCommandsUsageOrNone() throws {
            try withMountedProfile { profile in
                let home = ["--home", profile.home]
                let delete = try run(["vault", "delete", "Personal"] + home, in: profile.base)
                #expect(delete.status == 64)
                #expect(delete.error.hasPrefix("coffer: There is no terminal"), "\(delete.error)")
                #expect(!delete.error.contains("Usage"), "\(delete.error)")
                let option = try run(
                    ["mount", "-o", "nonsense", "\(profile.base)/x"] + home, in: profile.base)
                #expect(option.status == 64)
                #expect(option.error.hasPrefix("coffer: Unknown mount option"), "\(option.error)")
                #expect(!option.error.contains("Usage"), "\(option.error)")
                let words = try run(["vault", "delete"], in: profile.base)
                #expect(words.status == 64)
                #expect(words.error.hasPrefix("coffer: "), "\(words.error)")
                #expect(words.error.contains("Usage: coffer vault delete"), "\(words.error)")
            }
        }

        @Test func anEmptyHomeIsRefused() throws {
            try withProfile(mounted: nil) { profile in
                let result = try run(["status", "--home", ""], in: profile.home)
                #expect(result.status == 64 && result.error.contains("--home is empty"), "\(result.error)")
            }
        }

        @Test func anExistingProfileIsNamedWithItsHome() throws {
            try withProfile(mounted: nil) { profile in
                let result = try run(["init", "--home", "."], in: profile.home)
                #expect(result.status == 73)
                #expect(result.error.contains("coffer mount --home . ~/Coffer"), "\(result.error)")
            }
        }

        /// Help that cannot be written is an error, as all output is.
        @Test(arguments: ["help", "--help", "--version", "--generate-completion-script bash"])
        func helpThatCannotBeWritten(_ words: String) throws {
            let script = #""$@" >/dev/full"#
            let arguments = words.split(separator: " ").map(String.init)
            let result = try Command("/bin/sh", ["-c", script, "sh", try Programs.coffer()] + arguments)
                .fail(with: 74)
            #expect(result.error.contains("standard output"), "\(result.error)")
        }

        /// The name of a new profile's person is the login name.
        @Test(arguments: [
            ["USER": "una", "LOGNAME": "leo"], ["LOGNAME": "leo"], ["USER": "", "LOGNAME": "leo"], [:],
        ])
        func theLoginName(_ environment: [String: String]) throws {
            try withProfile(mounted: nil) { profile in
                let options = ["--home", "\(profile.base)/new", "--passphrase-file", profile.passphraseFile]
                let made = try run(
                    ["init", "--strength", "interactive"] + options, in: profile.base, environment)
                #expect(made.status == 0, "\(made.error)")
                let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) }
                let name =
                    ["USER", "LOGNAME"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? user ?? ""
                let status = try run(["status"] + options, in: profile.base).output
                #expect(status.contains("(\(name), "), "\(status)")
            }
        }

        /// What keeps a vault synced depends on whether it is mounted.
        @Test func theStatusSaysWhenChangesArrive() throws {
            try withMembers(["Alice"]) { members in
                let alice = members.alice
                let mounted = try alice.coffer("status").succeed().output
                #expect(mounted.contains("others' changes appear"), "\(mounted)")
                try alice.profile.unmount()
                let alone = try alice.profile.command("status").succeed().output
                #expect(alone.contains("only “coffer sync” sends and fetches"), "\(alone)")
                #expect(!alone.contains("others' changes appear"), "\(alone)")
                try alice.mount()
            }
        }
    }
}
