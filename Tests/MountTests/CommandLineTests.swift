import Foundation
import Testing

extension MountTests {
    /// The input of commands, and the form of their output.
    @Suite struct CommandLineTests {
        @Test func sizesAsPeopleWriteThem() throws {
            try withProfile(mounted: nil) { profile in
                for (text, said) in [
                    ("2GiB", "2.1 GB"), ("500M", "500.0 MB"), ("1kB", "1.0 kB"), ("7", "7 B"),
                ] {
                    try profile.command("vault", "set", "--cache", text, "Personal").succeed()
                    let info = try profile.command("vault", "info", "Personal").succeed()
                    #expect(info.output.contains("at most \(said)"), "\(text): \(info.output)")
                }
                for text in ["2iB", "GiB", "1.5G", "9999999TiB", "9223372036854775808"] {
                    try profile.command("vault", "set", "--cache", text, "Personal").fail(with: 64)
                }
            }
        }

        /// Output that cannot be written is an error.
        @Test func outputThatCannotBeWritten() throws {
            try withMountedProfile { profile in
                let script = #""$1" vault list --home "$2" >/dev/full"#
                let result = try Command(
                    "/bin/sh", ["-c", script, "sh", try Programs.coffer(), profile.home]
                )
                .fail(with: 74)
                #expect(result.error.contains("standard output"), "\(result.error)")
            }
        }

        @Test func namesWithNewlinesTakeOneLine() throws {
            try withMountedProfile { profile in
                try Files.makeDirectory("\(profile.point)/two\nlines\u{1b}[2J")
                let list = try profile.command("vault", "list").succeed()
                #expect(list.lines == ["Personal", #"two\u{a}lines\u{1b}[2J"#])
                let error = try profile.command("vault", "info", "no\nsuch\u{1b}[2J").fail(with: 66).error
                #expect(error.split(separator: "\n").count == 1 && !error.contains("\u{1b}"), "\(error)")
            }
        }

        /// Tables align by terminal columns: each letter of these names is two columns wide.
        @Test func columnsOfWideNames() throws {
            try withMountedProfile { profile in
                try Files.makeDirectory("\(profile.point)/日本語の金庫")
                let rows = try profile.command("status").succeed().lines
                let wide = try #require(rows.first { $0.hasPrefix("日本語の金庫") })
                let narrow = try #require(rows.first { $0.hasPrefix("Personal") })
                // Six letters of two columns, and eight of one, with spaces up to the same column.
                let after = wide.dropFirst(6).prefix { $0 == " " }.count
                let plain = narrow.dropFirst(8).prefix { $0 == " " }.count
                #expect(after + 12 == plain + 8, "\(rows)")
            }
        }

        /// Fresh writes count; the root of an empty vault does not count as an item.
        @Test func freshItemsAreCounted() throws {
            try withMountedProfile { profile in
                #expect(
                    try profile.command("vault", "info", "Personal").succeed().output.contains("Items    0\n")
                )
                for number in 0..<33 { try Files.write("x", to: profile.path("file-\(number)")) }
                #expect(
                    try profile.command("vault", "info", "Personal").succeed().output.contains(
                        "Items    33\n"))
                try profile.command("status", "--exit-code").succeed()
            }
        }

        /// A command that cannot succeed says so before it asks for confirmation.
        @Test func missingObjectsAreReportedBeforeAsking() throws {
            try withMembers { members in
                let alice = members.alice
                func isRefused(_ words: String..., with code: Int32, _ text: String) throws {
                    let command = Command(
                        try Programs.coffer(), words + ["--home", alice.profile.home])
                    let result = try command.fail(with: code)
                    #expect(result.error.contains(text), "\(words): \(result.error)")
                }
                try isRefused("member", "remove", "Plans", "nobody", with: 66, "has no member")
                try isRefused("member", "remove", "Nowhere", "Bob", with: 66, "no vault named")
                try isRefused("member", "leave", "Personal", with: 66, "has no remote")
                try isRefused("member", "leave", "Plans", "--successor", "nobody", with: 66, "has no member")
                try isRefused("vault", "delete", "--at-remote", "Personal", with: 66, "has no remote")
                // A command that can succeed asks first.
                try isRefused("member", "remove", "Plans", "Bob", with: 64, "--yes")
                try isRefused("member", "leave", "Plans", "--successor", "Bob", with: 64, "--yes")
            }
        }

        /// Two people may give their devices the same name: others see whose each one is.
        @Test func devicesAreShownWithTheirOwner() throws {
            try withProfile(mounted: nil) { profile in
                let options = [
                    "--home", "\(profile.base)/other", "--passphrase-file", profile.passphraseFile,
                ]
                let words = ["init", "--name", "Ann", "--device", "laptop", "--strength", "interactive"]
                try Command(try Programs.coffer(), words + options).succeed()
                let status = try Command(try Programs.coffer(), ["status"] + options).succeed().output
                #expect(status.contains("(Ann, Ann's laptop)"), "\(status)")
            }
        }

        @Test func aMountPointInTheProfileIsRefused() throws {
            try withProfile(mounted: nil) { profile in
                for point in ["\(profile.home)/mount", "\(profile.home)/vaults/../in", profile.home] {
                    let result = try profile.command("mount", point).fail(with: 72)
                    #expect(result.error.contains("inside the profile"), "\(result.error)")
                }
                #expect(try Files.names(profile.home).allSatisfy { $0 != "mount" && $0 != "in" })
            }
        }

        /// A profile as a person types it: a path, or one that the shell has yet to expand.
        private static let homes = ["", "~/profile", "$HOME/profile", "\"$HOME/profile\""]

        @Test(.enabled(if: Machine.has("bash"), "completes as bash does"), arguments: homes)
        func completions(_ typed: String) throws {
            try withMountedProfile { profile in
                try profile.command("vault", "create", "Plans").succeed()
                // Names that would run a command if the shell evaluated them.
                for name in ["P$(echo injected >&2)", "P`echo injected >&2`"] {
                    try Files.makeDirectory("\(profile.point)/\(name)")
                }
                let script = #"""
                    eval "$("$1" --generate-completion-script bash)"
                    COMP_WORDS=("$1" vault info --home "$2" P)
                    COMP_CWORD=5
                    COMP_LINE="${COMP_WORDS[*]}"
                    COMP_POINT=${#COMP_LINE}
                    _coffer
                    printf '%s\n' "${COMPREPLY[@]}"
                    """#
                let bash = try #require(Machine.path("bash"))
                let home = typed.isEmpty ? profile.home : typed
                var command = Command(bash, ["-c", script, "bash", try Programs.coffer(), home])
                command.environment["HOME"] = profile.base
                let result = try command.run()
                #expect(
                    Set(result.lines.map { $0.trimmingCharacters(in: .whitespaces) }) == [
                        "Personal", "Plans",
                    ],
                    "\(result.output)\(result.error)")
                #expect(!result.error.contains("injected"), "\(result.error)")
            }
        }

        @Test(.enabled(if: Machine.has("fish"), "completes as fish does"), arguments: ["", "~/profile"])
        func completionsOfFish(_ typed: String) throws {
            try withMountedProfile { profile in
                try profile.command("vault", "create", "Plans").succeed()
                try Files.makeDirectory("\(profile.point)/P$(echo injected >&2)")
                let coffer = try Programs.coffer()
                // Stands in for fish's command line, which needs a terminal.
                let script = #"""
                    $argv[1] --generate-completion-script fish > $argv[3]; and fish --no-execute $argv[3]; or exit 1
                    source $argv[3]
                    set -g typed $argv[1] vault info --home $argv[2] P
                    function __coffer_tokens
                        if test $argv[1] = -t
                            echo P
                        else
                            printf '%s\n' $typed
                        end
                    end
                    __coffer_custom_completion ---completion vault info -- positional@0 5 1
                    """#
                let fish = try #require(Machine.path("fish"))
                let home = typed.isEmpty ? profile.home : typed
                var command = Command(
                    fish, ["--no-config", "-c", script, coffer, home, "\(profile.base)/script"])
                command.environment["HOME"] = profile.base
                let result = try command.run()
                #expect(
                    Set(result.lines) == ["Personal", "Plans"], "\(result.output)\(result.error)")
                #expect(!result.error.contains("injected"), "\(result.error)")
            }
        }

        /// What zsh completes, by the function of the script that completes it.
        @Test(.enabled(if: Machine.has("zsh"), "completes as zsh does"), arguments: ["", "~/profile"])
        func completionsOfZsh(_ typed: String) throws {
            try withMountedProfile { profile in
                try profile.command("vault", "create", "Plans").succeed()
                try Files.makeDirectory("\(profile.point)/P$(echo injected >&2)")
                let script = #"""
                    "$1" --generate-completion-script zsh > "$3" && zsh -n "$3" || exit 1
                    function compdef { }
                    source "$3"
                    function __coffer_complete { print -rl -- "$@" }
                    export SAP_SHELL=zsh SAP_SHELL_VERSION=$ZSH_VERSION
                    call=(${=$(grep -m 1 -o '__coffer_custom_complete ---completion vault info [^"]*' "$3")})
                    command_name=$1
                    command_line=("$1" vault info --home "$2" P)
                    ${call[1]} ${call[2,-1]:#\"*} 5 1
                    """#
                let zsh = try #require(Machine.path("zsh"))
                let home = typed.isEmpty ? profile.home : typed
                var command = Command(
                    zsh,
                    ["-f", "-c", script, "zsh", try Programs.coffer(), home, "\(profile.base)/script"])
                command.environment["HOME"] = profile.base
                let result = try command.run()
                #expect(Set(result.lines) == ["Personal", "Plans"], "\(result.output)\(result.error)")
                #expect(!result.error.contains("injected"), "\(result.error)")
            }
        }
    }
}
