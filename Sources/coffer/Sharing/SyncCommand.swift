internal import ArgumentParser
internal import CofferClient
internal import Glibc

struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Send and fetch all changes, and return when that is done.",
        discussion: """
            A mount syncs by itself, and this command waits for it. Without a mount, this command syncs once. The content \
            of files is fetched when it is read; “coffer pin” fetches it now.

            Exit codes: 65 if the remote lacks something that it had, or that other devices say it has; 74 if a vault \
            could not be synced; 75 if something remains to be sent or applied.
            """)

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Keep running and report each change, until Ctrl-C.")
    var watch = false

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: "The vault (default: all that have a remote).", completion: Completions.vaults)
    var vault: String?

    func run() throws {
        let access = try Requests.open(profile)
        defer { access.close() }
        if watch { try watch(access) }
        let reports = try sync(access)
        if json { try Output.json(reports) } else { for report in reports { Output.line(Self.text(report)) } }
        // For scripts: something was not synced, or the remote cannot be trusted.
        if reports.exitCode != 0 { throw ExitCode(reports.exitCode) }
    }

    /// Syncs again and again, and reports what changed, until a signal ends the program.
    private func watch(_ access: ProfileAccess) throws -> Never {
        var shown: [String: SyncReport] = [:]
        var failure: String?
        while true {
            do {
                for report in try sync(access) {
                    let last = shown.updateValue(report.withoutTraffic, forKey: report.vault)
                    if json, last != report.withoutTraffic { try Output.json(report, onOneLine: true) }
                    if !json, last.map(Self.text) != Self.text(report) { Output.line(Self.text(report)) }
                }
                failure = nil
            } catch let error as ClientError where [EX_IOERR, EX_TEMPFAIL].contains(error.exitCode) {
                // The next attempt may succeed.
                let text = "\(error)"
                if text != failure { Output.error("coffer: \(text)") }
                failure = text
            }
            sleep(1)
        }
    }

    private func sync(_ access: ProfileAccess) throws -> [SyncReport] {
        try Requests.perform(SyncRequest(vault: vault), on: access, label: "Syncing")
    }

    private static func text(_ report: SyncReport) -> String {
        let more = report.doubts + report.repairs + (Reports.aside(report).map { [$0] } ?? [])
        return ([line(report)] + more.map { "\(report.vault): \($0)" }).map(Output.visible)
            .joined(separator: "\n")
    }

    private static func line(_ report: SyncReport) -> String {
        let unsent = "\(report.unsentItems) item\(report.unsentItems == 1 ? "" : "s") not sent"
        if report.isRemoteFull { return "\(report.vault): not synced: \(Reports.fullRemote(report))" }
        if let failure = report.failure {
            return "\(report.vault): not synced: \(failure)" + (report.unsentItems > 0 ? "; \(unsent)" : "")
        }
        if report.unsentItems > 0 { return "\(report.vault): \(unsent); see: coffer status" }
        if report.commitsWaiting > 0 {
            let count = report.commitsWaiting
            return "\(report.vault): \(count) commit\(count == 1 ? "" : "s") not applied; see: coffer status"
        }
        if !report.doubts.isEmpty { return "\(report.vault): synced, as far as the remote can be trusted" }
        return "\(report.vault): synced"
    }
}
