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
        var shown: [String: String] = [:]
        while true {
            let request = SyncRequest(vault: vault)
            let reports = try Requests.perform(request, on: access, label: "Syncing")
            if json, !watch { try Output.json(reports) }
            for report in reports where watch || !json {
                let text = Self.text(report)
                guard shown.updateValue(text, forKey: report.vault) != text || !watch else { continue }
                if json { try Output.json(report, onOneLine: true) } else { Output.line(text) }
            }
            guard watch else { return try Self.end(reports) }
            sleep(1)
        }
    }

    /// Throws the exit code for scripts if something was not synced, or if the remote cannot be trusted.
    private static func end(_ reports: [SyncReport]) throws {
        if reports.exitCode != 0 { throw ExitCode(reports.exitCode) }
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
