import Foundation
import Testing

extension MountTests {
    /// Completions that the parser's own scripts do not have: aliases of commands, and paths in vaults.
    @Suite struct PathCompletionTests {
        /// Runs a shell with the program, the profile, a directory to work in, and a file for the script.
        private func complete(
            _ shell: String, _ script: String, _ words: String
        ) throws -> Set<String> {
            var found: Set<String> = []
            try withMountedProfile { profile in
                for name in ["docs", "data"] { try Files.makeDirectory("\(profile.point)/Personal/\(name)") }
                try Files.write("text", to: "\(profile.point)/Personal/diary")
                try Files.makeDirectory("\(profile.point)/Personal/d$(echo injected >&2)")
                let here = "\(profile.base)/here"
                try Files.makeDirectory(here)
                try Files.makeDirectory("\(here)/Photos")
                let program = try #require(Machine.path(shell))
                let first = shell == "fish" ? ["--no-config", "-c"] : shell == "zsh" ? ["-f", "-c"] : ["-c"]
                let name = shell == "fish" ? [] : [shell]
                let result = try Command(
                    program,
                    first + [script] + name
                        + [try Programs.coffer(), profile.home, here, "\(profile.base)/script", words]
                ).run()
                #expect(!result.error.contains("injected"), "\(result.error)")
                found = Set(result.lines.map { $0.trimmingCharacters(in: .whitespaces) })
                if found.isEmpty { Issue.record("nothing is completed: \(result.error)") }
            }
            return found
        }

        private static let bash = #"""
            cd "$3"
            "$1" --generate-completion-script bash > "$4" && bash -n "$4" && source "$4" || exit 1
            read -ra words <<< "$5"
            COMP_WORDS=("$1" "${words[0]}" --home "$2" "${words[@]:1}")
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            COMP_LINE="${COMP_WORDS[*]}"
            COMP_POINT=${#COMP_LINE}
            _coffer coffer "${COMP_WORDS[COMP_CWORD]}"
            printf '%s\n' "${COMPREPLY[@]}"
            """#

        @Test(
            .enabled(if: Machine.has("bash"), "completes as bash does"), arguments: ["pin", "unpin", "evict"])
        func pathsInBash(_ command: String) throws {
            #expect(
                try complete("bash", Self.bash, "\(command) Personal/d") == [
                    "Personal/data/", "Personal/diary", "Personal/docs/",
                ])
            #expect(try complete("bash", Self.bash, "\(command) P") == ["Personal/", "Photos"])
        }

        @Test(.enabled(if: Machine.has("bash"), "completes as bash does"))
        func theAliasInBash() throws {
            #expect(try complete("bash", Self.bash, "umount P") == ["Photos"])
        }

        @Test(.enabled(if: Machine.has("zsh"), "completes as zsh does"))
        func pathsInZsh() throws {
            let script = #"""
                "$1" --generate-completion-script zsh > "$4" && zsh -n "$4" || exit 1
                cd "$3"
                function compdef { }
                function compadd { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@" }
                source "$4"
                whence -w _coffer_umount | grep -q function || exit 1
                grep -q '|umount|' "$4" || exit 1
                grep -q "{_files; __coffer_complete_paths ---completion pin " "$4" || exit 1
                export SAP_SHELL=zsh SAP_SHELL_VERSION=$ZSH_VERSION
                command_name=$1
                command_line=("$1" pin --home "$2" Personal/d)
                __coffer_complete_paths ---completion pin -- positional@0 4 10
                """#
            #expect(
                try complete("zsh", script, "") == ["Personal/data/", "Personal/diary", "Personal/docs/"])
        }

        @Test(.enabled(if: Machine.has("fish"), "completes as fish does"))
        func pathsInFish() throws {
            let script = #"""
                $argv[1] --generate-completion-script fish > $argv[4]; and fish --no-execute $argv[4]; or exit 1
                cd $argv[3]
                source $argv[4]
                ln -s $argv[1] $argv[3]/coffer
                set -x PATH $argv[3] $PATH
                complete -C "coffer umount "
                complete -C "coffer pin Ph" 2>/dev/null
                # Stands in for fish's command line, which needs a terminal.
                set -g typed $argv[1] pin --home $argv[2] Personal/d
                function __coffer_tokens
                    if test $argv[1] = -t
                        echo Personal/d
                    else
                        printf '%s\n' $typed
                    end
                end
                __coffer_custom_completion ---completion pin -- positional@0 4 10
                """#
            #expect(
                try complete("fish", script, "") == [
                    "Photos/", "Personal/data/", "Personal/diary", "Personal/docs/",
                ])
        }
    }
}
