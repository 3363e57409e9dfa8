internal import ArgumentParser
internal import CofferClient
internal import CofferSystem

struct PinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep contents on this device, whatever the cache limit.",
        discussion: """
            Fetches the contents of files, or of all files in directories, and keeps them here. What others change in them \
            is fetched by the mount in the background. It holds for this device, until “coffer unpin”. A program that saves \
            a file by putting another one in its place makes a file that is not pinned: pin the directory. After Ctrl-C the \
            pins stay, and a mount goes on fetching.
            """)

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "List what is pinned.")
    var list = false

    @Flag(help: "Do not wait until all is here; a mount fetches it.")
    var noWait = false

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: VaultPath.help, completion: .file())
    var paths: [String] = []

    func validate() throws {
        if list != paths.isEmpty {
            throw ValidationError(list ? "Say either --list or paths." : "Say what to pin, or --list.")
        }
    }

    func run() throws {
        let access = try ProfileAccess.open(try profile.location()) { () throws(ProfileError) in
            // Before threads start that a signal would end; Ctrl-C at the prompt is the prompt's.
            defer { if !list { EndingSignals.hold() } }
            return try Passphrase(options: profile).ask()
        }
        defer { access.close() }
        var reports: [PinReport] = []
        if list {
            reports = try perform(.pins(vault: nil), on: access) { true }
        } else {
            let groups = try VaultPath.grouped(paths, try profile.location())
            let interruption = Interruption()
            try interruption.listen(isAwaited: !access.isMounted)
            for group in groups {
                let request = ControlRequest.pin(vault: group.vault, paths: group.paths, waits: !noWait)
                reports += try perform(request, on: access) { !interruption.isSet }
                if interruption.isSet { break }
            }
            if let signal = interruption.signal {
                access.close()
                EndingSignals.die(of: signal)
            }
        }
        if json { return try Output.json(reports) }
        if list, reports.isEmpty { return Output.error("Nothing is pinned.") }
        Output.table(
            ["VAULT", "PATH", "FILES", "CONTENT", ""],
            reports.map { report in
                [
                    report.vault, report.path.isEmpty ? "/" : report.path, String(report.files),
                    Output.bytes(report.bytes),
                    report.missingBytes > 0 ? "\(Output.bytes(report.missingBytes)) to fetch" : "",
                ]
            })
    }

    private func perform(
        _ request: ControlRequest, on access: ProfileAccess, _ isHeard: @escaping @Sendable () -> Bool
    ) throws -> [PinReport] {
        let response = try Requests.perform(request, on: access, label: "Fetching", isHeard: isHeard)
        guard case .pins(let reports) = response else { throw ProfileError.otherAnswer }
        return reports
    }
}

struct UnpinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Keep pinned contents no longer than others.",
        discussion: """
            They stay until the cache limit, or “coffer evict”, takes them. Name what was pinned, as “coffer pin --list” \
            shows it.
            """)

    @OptionGroup var profile: ProfileOptions

    @Argument(help: VaultPath.help, completion: .file())
    var paths: [String]

    func run() throws {
        let groups = try VaultPath.grouped(paths, try profile.location())
        let access = try Requests.open(profile)
        defer { access.close() }
        for group in groups {
            _ = try Requests.perform(.unpin(vault: group.vault, paths: group.paths), on: access)
        }
    }
}

struct EvictCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", abstract: "Give up contents on this device that are at the remote.",
        discussion: """
            They are fetched again when they are read. What is not at the remote stays, and so does what is pinned. \
            What stays, and why, is printed, and the exit code is then 1.
            """)

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: VaultPath.help, completion: .file())
    var paths: [String]

    func run() throws {
        let groups = try VaultPath.grouped(paths, try profile.location())
        let access = try Requests.open(profile)
        defer { access.close() }
        var reports: [EvictReport] = []
        for group in groups {
            let request = ControlRequest.evict(vault: group.vault, paths: group.paths)
            guard case .evicted(let report) = try Requests.perform(request, on: access, label: "Evicting")
            else { throw ProfileError.otherAnswer }
            reports.append(report)
        }
        if json { try Output.json(reports) } else { Self.show(reports) }
        if reports.contains(where: { !$0.kept.isEmpty }) { throw ExitCode(1) }
    }

    private static func show(_ reports: [EvictReport]) {
        for report in reports {
            Output.line(Output.visible("\(report.vault): \(Output.bytes(report.evictedBytes)) given up"))
            for kept in report.kept {
                Output.line("  \(Output.bytes(kept.bytes)) stay: \(text(kept.reason))")
            }
        }
    }

    private static func text(_ reason: String) -> String {
        switch reason {
        case "unsent": "not at the remote yet (coffer sync)"
        case "not-seen": "not seen at the remote lately"
        case "pinned": "pinned (coffer unpin)"
        default: reason
        }
    }
}

extension VaultPath {
    /// What to say of arguments of this kind.
    static var help: ArgumentHelp {
        ArgumentHelp(
            "Files or directories: their paths in the mount, or VAULT/PATH; VAULT alone is all of it.",
            valueName: "path")
    }
}
