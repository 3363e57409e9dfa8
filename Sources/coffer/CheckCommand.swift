internal import ArgumentParser
internal import CofferClient

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Read all data on this device, and name what is damaged.",
        discussion: """
            Vaults can be in use meanwhile. In a vault that has a remote, names and items are also compared with the \
            commits of all devices, unless changes wait to be sent. Content that is only at the remote is not fetched; \
            check finds out whether it is there.

            Exit codes: 1 if anything is damaged; 74 if nothing is, but not everything could be checked.
            """
    )

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: "The vault (default: all).", completion: Completions.vaults)
    var vault: String?

    func run() throws {
        let report = try Requests.perform(CheckRequest(vault: vault), profile, label: "Checking")
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
            func count(_ number: Int, _ noun: String) -> String {
                "\(number) \(noun)\(number == 1 ? "" : "s")"
            }
            var verdict = check.damage.isEmpty ? "clean" : "\(check.damage.count) damaged"
            if !check.unchecked.isEmpty {
                verdict += ", as far as it could be checked"
            }
            if check.isCompared == false {
                verdict += "; not compared with commits, because changes wait to be sent"
            }
            Output.line(
                "\(Output.visible(check.vault)): \(count(check.items, "item")), \(count(check.blocks, "block")), \(Output.bytes(Int64(check.bytes))): \(verdict)"
            )
        }
    }
}
