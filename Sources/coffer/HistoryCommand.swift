internal import ArgumentParser
internal import CofferClient
internal import CofferSystem

struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "List the past states of a vault, or the versions of an item.",
        discussion: """
            A vault keeps its past once “coffer vault set --history” says for how long. Changes of about a minute make one \
            state. All states of the last 24 hours are kept, then one for each hour of a week, one for each day of a \
            quarter, and one for each week before that; and those with a name (“coffer snapshot”). BY names the device that \
            made a version. Changes within about a minute cannot be told apart, and a change of somebody else counts from \
            the time it reached this device. The history stays on this device: other devices and members have \
            their own. In the mount, past states are folders: ~/Coffer/Plans/.coffer/history/2026-11-20T14:05, which no \
            listing shows. The past goes with its vault: “coffer vault delete”, and “rm -r” on the folder of a vault, \
            delete both.

            Examples:
              coffer vault set --history 14d Plans
              coffer history Plans
              coffer history ~/Coffer/Plans/budget.ods
            """)

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: VaultPath.help, completion: Completions.paths)
    var path: String

    func run() throws {
        let place = try VaultPath(path, try profile.location())
        let request = HistoryRequest(vault: place.vault, path: place.path)
        let report = try Requests.perform(request, profile, label: "Reading")
        if json { return try Output.json(report) }
        if place.path.isEmpty {
            Output.table(
                ["FROM", "TO", "ENDED BY", "SNAPSHOTS"],
                report.states.map {
                    [
                        Output.moment($0.since), $0.until.map(Output.moment) ?? "now",
                        Self.text($0.endedBy), $0.snapshots.map(Output.visible).joined(separator: ", "),
                    ]
                })
        } else {
            Output.table(
                ["FROM", "TO", "TYPE", "SIZE", "MODIFIED", "CHANGE", "BY"],
                report.states.map { state in
                    [Output.moment(state.since), state.until.map(Output.moment) ?? "now"]
                        + Self.columns(state.item)
                        + [state.change ?? "", Self.text(state.by)]
                })
        }
    }

    private static func text(_ authors: [AuthorReport]) -> String {
        authors.map { Output.visible($0.text) }.joined(separator: ", ")
    }

    private static func columns(_ item: HistoryReport.Item?) -> [String] {
        guard let item else { return ["nothing", "", ""] }
        return [item.type, item.type == "file" ? Output.bytes(item.size) : "", Output.moment(item.modified)]
    }
}

struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Show which items differ between two states of a vault.",
        discussion: """
            Each line begins with + (added), - (removed), M (content), or A (permissions, owner, or attributes). Without \
            --to, the second state is the present one. A file with the same size and time of modification counts as the \
            same.

            Examples:
              coffer diff Plans --from 2h
              coffer diff Plans/2026 --from 2026-11-20T14:05 --to 2026-11-21
            """)

    @OptionGroup var profile: ProfileOptions

    @Option(help: PastPlaceArgument.help)
    var from: PastPlaceArgument

    @Option(help: "The same, of the later state.")
    var to: PastPlaceArgument?

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: VaultPath.help, completion: Completions.paths)
    var path: String

    func run() throws {
        let place = try VaultPath(path, try profile.location())
        let request = DifferenceRequest(
            vault: place.vault, path: place.path, from: from.place, to: to?.place)
        let report = try Requests.perform(request, profile, label: "Comparing")
        if json { return try Output.json(report) }
        Output.error("From \(Output.moment(report.from)) to \(Output.moment(report.to)):")
        Self.show(report.differences)
    }

    /// Prints one line for each difference.
    static func show(_ differences: [DifferenceReport.Difference], limit: Int = .max) {
        for difference in differences.prefix(limit) {
            let mark =
                switch difference.kind {
                case "added": "+"
                case "removed": "-"
                case "changed": "M"
                default: "A"
                }
            let path = difference.path.isEmpty ? "." : difference.path
            Output.line("\(mark) \(Output.visible(path))\(difference.isDirectory ? "/" : "")")
        }
        if differences.count > limit { Output.line("… and \(differences.count - limit) more") }
    }
}

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Bring a file, a folder, or a vault back as it was.",
        discussion: """
            What was deleted or changed since then comes back under its name; what is there now is replaced, and stays in \
            the history, so a restore can be undone by another one. Items that were added since then stay, unless --exact \
            says that they go. Unchanged files are not touched. --dry-run shows what would change.

            Examples:
              coffer restore ~/Coffer/Plans/budget.ods --at 2h
              coffer restore Plans/2026 --at 2026-11-20T14:05 --dry-run
              coffer restore Plans --at 14:05 --exact
              coffer restore Plans --at before-the-move
            """)

    @OptionGroup var profile: ProfileOptions

    @Option(help: PastPlaceArgument.help)
    var at: PastPlaceArgument

    @Flag(help: "Also remove items that were not there then.")
    var exact = false

    @Flag(name: .long, help: "Show what would change, and change nothing.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: VaultPath.help, completion: Completions.paths)
    var path: String

    func run() throws {
        let place = try VaultPath(path, try profile.location())
        let access = try Requests.open(profile, holdingSignals: !dryRun)
        defer { access.close() }
        if dryRun { return try rehearse(place, access) }
        let interruption = Interruption()
        try interruption.listen(isAwaited: !access.isMounted)
        let request = RestoreRequest(vault: place.vault, path: place.path, state: at.place, isExact: exact)
        let report: RestoredReport
        do {
            report = try Requests.perform(request, on: access, label: "Restoring") { !interruption.isSet }
        } catch {
            guard let signal = interruption.signal else { throw error }
            access.close()
            EndingSignals.die(of: signal)
        }
        if json { return try Output.json(report) }
        var parts = [
            "\(report.items) restored (\(Output.bytes(report.bytes)))", "\(report.unchanged) unchanged",
        ]
        if report.removed > 0 { parts.append("\(report.removed) removed") }
        if report.kept > 0 { parts.append("\(report.kept) new, left alone") }
        Output.line("As of \(Output.moment(report.since)): \(parts.joined(separator: ", "))")
    }

    private func rehearse(_ place: VaultPath, _ access: ProfileAccess) throws {
        let request = DifferenceRequest(vault: place.vault, path: place.path, from: at.place, to: nil)
        let report = try Requests.perform(request, on: access, label: "Comparing")
        // What was added since then would be removed, and the other way round.
        let steps = report.differences.compactMap { difference -> DifferenceReport.Difference? in
            switch difference.kind {
            case "added": exact ? difference.reversed("removed") : nil
            case "removed": difference.reversed("added")
            default: difference
            }
        }
        if json { return try Output.json(steps) }
        Output.error("A restore of the state of \(Output.moment(report.from)) would change:")
        if steps.isEmpty { Output.error("nothing") }
        DiffCommand.show(steps, limit: 1000)
    }
}

extension DifferenceReport.Difference {
    /// The difference in the other direction.
    fileprivate func reversed(_ kind: String) -> Self {
        Self(kind: kind, path: path, isDirectory: isDirectory)
    }
}
