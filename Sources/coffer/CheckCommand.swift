internal import ArgumentParser
internal import CofferClient

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Read every row and block, and name what is damaged.",
        discussion: """
            Exits with 1 if anything is damaged. Can be run while the vaults are mounted and in use. In a vault that has a \
            remote, names and items are compared with what the commits of all devices say, where no changes wait to be \
            sent.
            """
    )

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: "A vault's name; all vaults without it.", completion: Completions.vaults)
    var vault: String?

    func run() throws {
        guard case .check(let report) = try Requests.perform(.check(vault: vault), profile, label: "Checking")
        else {
            throw ProfileError.control("The mount gave another answer than was asked for.")
        }
        if json { try Output.json(report) } else { print(report) }
        if !report.isClean { throw ExitCode(1) }
    }

    private func print(_ report: CheckReport) {
        for check in report.vaults {
            for damage in check.damage {
                let range =
                    damage.from.flatMap { from in damage.to.map { " bytes \(from) to \($0 - 1)" } } ?? ""
                let path = Output.visible(damage.path.map { "/\($0)" } ?? "")
                Output.line("\(Output.visible(check.vault))\(path)\(range): \(Output.visible(damage.text))")
            }
            func count(_ number: Int, _ noun: String) -> String {
                "\(number) \(noun)\(number == 1 ? "" : "s")"
            }
            var verdict = check.damage.isEmpty ? "clean" : "\(check.damage.count) damaged"
            if check.isCompared == false {
                verdict += "; not compared with commits, as changes wait to be sent"
            }
            Output.line(
                "\(Output.visible(check.vault)): \(count(check.items, "item")), \(count(check.blocks, "block")), \(Output.bytes(Int64(check.bytes))): \(verdict)"
            )
        }
    }
}
