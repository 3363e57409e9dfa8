internal import ArgumentParser
internal import CofferClient
internal import CofferSystem

struct PinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep content on this device, whatever the cache limit.",
        discussion: """
            Fetches the content of files, or of all files in directories, and keeps it on this device until “coffer \
            unpin”. A mount fetches later changes in the background. Many programs save a file by replacing it with a new \
            one, which is then not pinned: pin the directory instead. After Ctrl-C the pins stay, and a mount goes on \
            fetching. If one vault fails, the others are still pinned.

            Examples:
              coffer pin ~/Coffer/Plans/2026
              coffer pin --list
            """)

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "List what is pinned.")
    var list = false

    @Flag(help: "Do not wait for the content; a mount fetches it.")
    var noWait = false

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: VaultPath.help, completion: Completions.paths)
    var paths: [String] = []

    func validate() throws {
        if list != paths.isEmpty {
            throw ValidationError(list ? "Give either --list or paths." : "Give paths to pin, or --list.")
        }
    }

    func run() throws {
        let access = try Requests.open(profile, holdingSignals: !list)
        defer { access.close() }
        var reports: [PinReport] = []
        var failures = Failures()
        if list {
            reports = try perform(.list(vault: nil), on: access) { true }
        } else {
            let groups = try VaultPath.grouped(paths, try profile.location())
            let interruption = Interruption()
            try interruption.listen(isAwaited: !access.isMounted)
            for group in groups where !interruption.isSet {
                failures.collect {
                    let request = PinRequest.pin(vault: group.vault, paths: group.paths, waits: !noWait)
                    reports += try perform(request, on: access) { !interruption.isSet }
                }
            }
            if let signal = interruption.signal {
                access.close()
                EndingSignals.die(of: signal)
            }
        }
        if json { try Output.json(reports) } else { Self.show(reports, isList: list) }
        try failures.end()
    }

    private static func show(_ reports: [PinReport], isList: Bool) {
        if reports.isEmpty {
            if isList { Output.error("Nothing is pinned.") }
            return
        }
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
        _ request: PinRequest, on access: ProfileAccess, _ isHeard: @escaping @Sendable () -> Bool
    ) throws -> [PinReport] {
        try Requests.perform(request, on: access, label: "Fetching", isHeard: isHeard)
    }
}

struct UnpinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Stop pinning content.",
        discussion: """
            The content stays until the cache limit or “coffer evict” removes it. Give the paths as “coffer pin --list” \
            shows them.
            """)

    @OptionGroup var profile: ProfileOptions

    @Argument(help: VaultPath.help, completion: Completions.paths)
    var paths: [String]

    func run() throws {
        let groups = try VaultPath.grouped(paths, try profile.location())
        let access = try Requests.open(profile)
        defer { access.close() }
        var failures = Failures()
        for group in groups {
            failures.collect {
                _ = try Requests.perform(UnpinRequest(vault: group.vault, paths: group.paths), on: access)
            }
        }
        try failures.end()
    }
}

struct EvictCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", abstract: "Remove content from this device that is also at the remote.",
        discussion: """
            The content is fetched again when it is read. Content that is pinned, or not at the remote, stays: evict \
            prints how much and why, and exits with 1.
            """)

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: VaultPath.help, completion: Completions.paths)
    var paths: [String]

    func run() throws {
        let groups = try VaultPath.grouped(paths, try profile.location())
        let access = try Requests.open(profile)
        defer { access.close() }
        var reports: [EvictReport] = []
        var failures = Failures()
        for group in groups {
            failures.collect {
                let request = EvictRequest(vault: group.vault, paths: group.paths)
                let report = try Requests.perform(request, on: access, label: "Evicting")
                reports.append(report)
            }
        }
        if json { try Output.json(reports) } else { Self.show(reports) }
        try failures.end()
        if reports.contains(where: { !$0.kept.isEmpty }) { throw ExitCode(1) }
    }

    private static func show(_ reports: [EvictReport]) {
        for report in reports {
            Output.line(Output.visible("\(report.vault): \(Output.bytes(report.evictedBytes)) evicted"))
            for kept in report.kept {
                Output.line("  \(Output.bytes(kept.bytes)) kept: \(text(kept.reason))")
            }
        }
    }

    private static func text(_ reason: String) -> String {
        switch reason {
        case "unsent": "not at the remote yet (coffer sync)"
        case "not-seen": "not recently seen at the remote"
        case "pinned": "pinned (coffer unpin)"
        default: reason
        }
    }
}

/// Runs several steps even if some fail, as rm(1) does with its files, and keeps the first failure.
struct Failures {
    /// The first failure.
    private var first: (any Error)?

    /// Runs one step, and prints its failure.
    mutating func collect(_ body: () throws -> Void) {
        do { try body() } catch {
            if let error = error as? ClientError { Output.error("coffer: \(error)") }
            first = first ?? error
        }
    }

    /// Throws the exit code of the first failure, if any.
    func end() throws {
        if let error = first as? ClientError { throw ExitCode(error.exitCode) }
        if let first { throw first }
    }
}

extension VaultPath {
    /// The help of arguments of this kind.
    static var help: ArgumentHelp {
        ArgumentHelp(
            "Files or directories: paths in the mount, or VAULT/PATH. VAULT alone means everything in it.",
            valueName: "path")
    }
}
