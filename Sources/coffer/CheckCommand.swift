internal import ArgumentParser
internal import CofferClient

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Read all data on this device, and name what is damaged.",
        discussion: """
            Vaults can be in use meanwhile. In a vault that has a remote, names and items are also compared with the \
            commits of all devices, unless changes wait to be sent. Content that is only at the remote is not fetched; \
            check finds out whether it is there.

            With --remote, check also compares what the remote lists with what this device knows to be needed there: \
            members and their keys, commits, checkpoints, and packs, which have the contents. So it tells whether a \
            new device could get everything that was sent. With --read-all it also fetches all of this, compares it \
            with what its authors signed, and keeps nothing of it. Check repairs nothing at the remote, and says what \
            does. Without a mount, or if something seems to be missing or is new, it applies what is new there, as \
            coffer sync does; contents of files that others changed, too, may be sent.

            Exit codes: 1 if anything is missing or damaged; 74 if nothing is, but not everything could be checked.
            """
    )

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Also check what the remote has.")
    var remote = false

    @Flag(help: "Like --remote; also fetch everything from there, and verify it.")
    var readAll = false

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: "The vault (default: all).", completion: Completions.vaults)
    var vault: String?

    func run() throws {
        let depth: CheckRequest.RemoteDepth? = readAll ? .read : remote ? .listed : nil
        let report = try Requests.perform(
            CheckRequest(vault: vault, remote: depth), profile, label: "Checking")
        if json { try Output.json(report) } else { print(report) }
        if !report.isClean { throw ExitCode(1) }
        if !report.isComplete { throw ExitCode(74) }
    }

    private func print(_ report: CheckReport) {
        for check in report.vaults {
            for damage in check.damage {
                let range =
                    damage.from.flatMap { from in damage.to.map { " bytes \(from) to \($0 - 1)" } } ?? ""
                let path = Output.visible(damage.path.map { "/\($0)" } ?? "")
                Output.line("\(Output.visible(check.vault))\(path)\(range): \(Output.visible(damage.text))")
            }
            for text in check.unchecked {
                Output.line("\(Output.visible(check.vault)): \(Output.visible(text))")
            }
            var verdict = check.damage.isEmpty ? "clean" : "\(check.damage.count) damaged"
            if !check.unchecked.isEmpty {
                verdict += ", as far as it could be checked"
            }
            if check.isCompared == false {
                verdict += "; not compared with commits, because changes wait to be sent"
            }
            Output.line(
                "\(Output.visible(check.vault)): \(Self.count(check.items, "item")), \(Self.count(check.blocks, "block")), \(Output.bytes(Int64(check.bytes))): \(verdict)"
            )
            if let remote = check.remote {
                print(remote, of: check.vault)
            } else if self.remote || readAll {
                Output.line("\(Output.visible(check.vault)): no remote was checked, because it has none")
            }
        }
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    private func print(_ check: RemoteCheck, of vault: String) {
        let name = "\(Output.visible(vault)) at \(Output.visible(check.remote))"
        for problem in check.problems {
            Output.line("\(name): \(Output.visible(problem.text))")
            for path in problem.paths { Output.line("    \(Output.visible("/\(path)"))") }
            let more = (problem.files ?? 0) - problem.paths.count
            let rest =
                problem.paths.isEmpty ? "\(Self.count(more, "file")) without a name" : "and \(more) more"
            if more > 0 { Output.line("    \(rest)") }
        }
        // Most problems have the same one.
        var told: Set<String> = []
        for problem in check.problems where told.insert(problem.remedy).inserted {
            Output.line("\(name): \(Output.visible(problem.remedy))")
        }
        for text in check.unchecked { Output.line("\(name): \(Output.visible(text))") }
        let faults = check.problems.isEmpty ? nil : Self.count(check.problems.count, "problem")
        let gaps = check.unchecked.isEmpty ? nil : "not everything could be checked"
        let verdict = [faults, gaps].compactMap { $0 }.joined(separator: "; ")
        let read = check.readBytes.map { ", \(Output.bytes(Int64($0))) read" } ?? ""
        Output.line(
            "\(name): \(Self.count(check.commits, "commit")), \(Self.count(check.packs, "pack")), \(Output.bytes(Int64(check.bytes)))\(read): \(verdict.isEmpty ? "whole" : verdict)"
        )
    }
}
