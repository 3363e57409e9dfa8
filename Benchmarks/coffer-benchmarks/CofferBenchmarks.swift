internal import ArgumentParser

@main struct CofferBenchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coffer-benchmarks", abstract: "Times Coffer against its peers.",
        subcommands: [RunCommand.self, ReportCommand.self], defaultSubcommand: RunCommand.self)
}
