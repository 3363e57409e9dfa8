internal import ArgumentParser
internal import CofferClient
internal import Glibc

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Tell about the profile, its vaults, and problems that were met.")

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let report = try Reports.status(profile)
        if json { return try Output.json(report) }
        Output.line("Profile  \(report.profile) (\(report.name), \(report.device))")
        Output.line("Mounted  \(report.mountPoint ?? "no")")
        if let disk = report.disk {
            Output.line(
                "Disk     \(Output.bytes(Int64(disk.available))) free of \(Output.bytes(Int64(disk.total)))")
        }
        Output.line("")
        Reports.table(report.vaults)
        if report.problems.isEmpty { return }
        Output.line("\nProblems")
        for problem in report.problems { Output.line("  \(problem.text)") }
    }
}

/// Reports as commands print them.
enum Reports {
    static func status(_ options: ProfileOptions) throws -> StatusReport {
        let access = try ProfileAccess.open(try options.location()) { () throws(ProfileError) in
            try Passphrase(options: options).ask()
        }
        defer { access.close() }
        guard case .status(let report) = try Requests.perform(.status, on: access) else {
            throw ProfileError.control("The mount gave another answer than was asked for.")
        }
        return report
    }

    static func table(_ vaults: [VaultReport]) {
        let width = max(5, vaults.map(\.name.count).max() ?? 0)
        func pad(_ text: String, _ count: Int) -> String {
            text + String(repeating: " ", count: max(0, count - text.count))
        }
        Output.line("\(pad("VAULT", width))  \(pad("ITEMS", 10))  \(pad("CONTENT", 10))  STORE")
        for vault in vaults {
            let state =
                vault.isOpen ? vault.stopped.map { " — only readable: \($0)" } ?? "" : " — cannot be opened"
            let content = pad(Output.bytes(vault.contentBytes), 10)
            Output.line(
                "\(pad(vault.name, width))  \(pad(String(vault.items), 10))  \(content)  \(Output.bytes(vault.storeBytes))\(state)"
            )
        }
    }
}

/// Requests to a profile.
enum Requests {
    /// Performs a request and throws what it failed with.
    static func perform(
        _ request: ControlRequest, on access: ProfileAccess, label: String = ""
    ) throws -> ControlResponse {
        let bar = ProgressBar(label)
        defer { bar.end() }
        let response = try access.perform(request) { bar.show($0) }
        if case .failure(let code, let message) = response {
            bar.end()
            Output.error("coffer: \(message)")
            throw ExitCode(code)
        }
        return response
    }

    /// Opens the profile, performs one request, and closes it.
    @discardableResult
    static func perform(
        _ request: ControlRequest, _ options: ProfileOptions, label: String = ""
    ) throws -> ControlResponse {
        let access = try ProfileAccess.open(try options.location()) { () throws(ProfileError) in
            try Passphrase(options: options).ask()
        }
        defer { access.close() }
        return try perform(request, on: access, label: label)
    }
}
