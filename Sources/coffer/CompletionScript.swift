internal import ArgumentParser

/// The completion scripts: ArgumentParser's, with what it leaves out.
///
/// It leaves out aliases of commands, and completes either files or what a command names, not both: the paths of
/// “pin”, “unpin” and “evict” are paths of files, or VAULT/PATH.
enum CompletionScript {
    private static let option = "--generate-completion-script"

    /// The script that the arguments of the program ask for; nil if they ask for none, or for an unknown shell.
    static func requested(_ arguments: [String]) -> String? {
        guard arguments.count == 2, arguments.first == option,
            let shell = CompletionShell(rawValue: arguments[1])
        else { return nil }
        let script = Coffer.completionScript(for: shell)
        return switch shell {
        case .bash: bash(script)
        case .zsh: zsh(script)
        default: fish(script)
        }
    }

    private static let pathCommands = ["pin", "unpin", "evict"]

    /// The call in a script that completes the paths of a command.
    private static func call(_ function: String, _ command: String) -> String {
        "\(function) ---completion \(command) --"
    }

    private static func bash(_ script: String) -> String {
        var script = script.replacing("|unmount|", with: "|unmount|umount|", maxReplacements: 1)
        for command in pathCommands {
            let words = "-W \"$(\(call("__coffer_custom_complete", command))"
            script = script.replacing(
                "__coffer_add_completions \(words)",
                with: "__coffer_add_completions -f\n        __coffer_add_paths \(words)")
        }
        return script.replacing(
            "\n_coffer() {",
            with: """

                __coffer_add_paths() {
                    __coffer_add_completions "${@}"
                    # The path of a directory goes on.
                    if [[ "${#COMPREPLY[@]}" -eq 1 && "${COMPREPLY[0]}" = */ ]]; then
                        compopt -o nospace 2>/dev/null
                    fi
                }

                _coffer_umount() {
                    _coffer_unmount
                }

                _coffer() {
                """, maxReplacements: 1)
    }

    private static func zsh(_ script: String) -> String {
        var script = script.replacing("|unmount|", with: "|unmount|umount|", maxReplacements: 1)
        for command in pathCommands {
            script = script.replacing(
                "{\(call("__coffer_custom_complete", command))",
                with: "{_files; \(call("__coffer_complete_paths", command))")
        }
        return script.replacing(
            "\n_coffer() {",
            with: """

                __coffer_complete_paths() {
                    local -a paths
                    paths=("${(@f)"$("${command_name}" "${@}" "${command_line[@]}")"}")
                    paths=("${(@)paths[1,-2]}")
                    # The path of a directory goes on.
                    compadd -S '' -- "${(@M)paths:#*/}"
                    compadd -- "${(@)paths:#*/}"
                }

                _coffer_umount() {
                    _coffer_unmount "${@}"
                }

                _coffer() {
                """, maxReplacements: 1)
    }

    private static func fish(_ script: String) -> String {
        let tokens = "set -l unparsed_tokens (__coffer_tokens -pc)"
        var script = script.replacing(
            tokens,
            with: """
                \(tokens)
                    test "$unparsed_tokens[2]" = umount; and set unparsed_tokens[2] unmount
                """, maxReplacements: 1)
        for command in pathCommands {
            let call = "'(\(call("__coffer_custom_completion", command))"
            // -F adds files.
            script = script.replacing("-fka \(call)", with: "-Fka \(call)")
        }
        return script
    }
}
