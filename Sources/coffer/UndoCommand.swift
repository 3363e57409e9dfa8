internal import ArgumentParser
internal import CofferClient
internal import CofferSystem

struct UndoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo", abstract: "Take back what a member or a device did.",
        discussion: """
            Items that only these devices have changed since then become what they were: what they removed comes back (+), \
            what they added goes (-), what they renamed gets its old name (>), and what they wrote is replaced by the content \
            from before (M). If others changed an item, too, only what was done after that is taken back; what stays is \
            listed, and is no failure. All items change at once, at the end. An undo that fails, or that Ctrl-C stops before \
            that, changes nothing. What is there now stays in the history, so an undo can be undone by a restore.

            --by takes the name of a member, for all their devices, or of one device, as “coffer history” shows it. The \
            history of a vault is that of this device, so a change counts from the time it reached this device. Changes \
            within about a minute cannot be told apart.

            Examples:
              coffer undo Plans --by Bob --since 2h --dry-run
              coffer undo Plans --by "Bob's laptop" --since 2026-11-20T14:05
            """)

    @OptionGroup var profile: ProfileOptions

    @Option(
        help: ArgumentHelp("A member or a device; may be given several times.", valueName: "name"),
        completion: Completions.members)
    var by: [String]

    @Option(help: SinceArgument.help)
    var since: SinceArgument

    @Flag(name: .long, help: "Show what would change, and change nothing.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: "The vault.", completion: Completions.vaults)
    var vault: String

    func validate() throws {
        if by.isEmpty { throw ValidationError("Say with --by whose changes are to be taken back.") }
        if since.isInFuture { throw ValidationError("The time of --since has not come yet.") }
    }

    func run() throws {
        let access = try Requests.open(profile, holdingSignals: !dryRun)
        defer { access.close() }
        let request = UndoRequest(vault: vault, authors: by, since: since.place, isRehearsal: dryRun)
        let report =
            try dryRun ? Requests.perform(request, on: access, label: "Looking") : perform(request, access)
        if json { return try Output.json(report) }
        show(report)
    }

    private func perform(_ request: UndoRequest, _ access: ProfileAccess) throws -> UndoneReport {
        let interruption = Interruption()
        try interruption.listen(isAwaited: !access.isMounted)
        do {
            return try Requests.perform(request, on: access, label: "Undoing") { !interruption.isSet }
        } catch {
            guard let signal = interruption.signal else { throw error }
            access.close()
            EndingSignals.die(of: signal)
        }
    }

    // MARK: Output

    private static let lineCountMax = 1000

    private func show(_ report: UndoneReport) {
        let names = report.by.map { "“\(Output.visible($0.text))”" }.joined(separator: ", ")
        Output.error(
            "\(dryRun ? "An undo of" : "Undid") what \(names) did since \(Output.moment(since.time ?? report.since))"
                + (dryRun ? " would change:" : ":"))
        if let asked = since.time, asked - report.until > 60 {
            Output.error(
                "(No states are kept between \(Output.moment(report.until)) and \(Output.moment(asked)), so changes "
                    + "made then are taken back, too.)")
        }
        if report.steps.isEmpty { Output.error("nothing") }
        for step in report.steps.prefix(Self.lineCountMax) {
            Output.line("\(Self.mark(step.kind)) \(Self.path(step.path))")
        }
        if report.steps.count > Self.lineCountMax {
            Output.line("… and \(report.steps.count - Self.lineCountMax) more")
        }
        for conflict in report.conflicts.prefix(Self.lineCountMax) {
            Output.error("\(Self.path(conflict.path)): \(Self.reason(conflict))")
        }
        if report.conflicts.count > Self.lineCountMax {
            Output.error("… and \(report.conflicts.count - Self.lineCountMax) more; --json lists all")
        }
        if !report.isStored {
            Output.error("These changes are not on the disk yet; “coffer status” says why.")
        }
    }

    private static func path(_ path: String) -> String { path.isEmpty ? "." : Output.visible(path) }

    private static func mark(_ kind: String) -> String {
        switch kind {
        case "restored": "+"
        case "removed": "-"
        case "moved": ">"
        default: "M"
        }
    }

    private static func reason(_ conflict: UndoneReport.Conflict) -> String {
        let names = conflict.by.map { Output.visible($0.text) }.joined(separator: ", ")
        let others = names.isEmpty ? "somebody else" : names
        return switch conflict.reason {
        case "changedByOthers": "stays as it is, as \(others) changed it, too"
        case "partlyUndone": "only what came after the change by \(others) is taken back"
        case "changedMeanwhile": "stays as it is, as it was changed just now"
        case "unreadable": "stays as it is, as its content from before cannot be read"
        case "placeTaken": "stays as it is, as its place from before is taken or gone"
        default: "stays, as something in it stays"
        }
    }
}
