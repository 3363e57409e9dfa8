internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the profile, its vaults, how far each is synced, and problems."
    )

    @OptionGroup var profile: ProfileOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(
        help:
            """
            Exit with 74 if a vault cannot be opened, written, stored or synced, with 65 if something is damaged or \
            doubtful, and with 75 if the profile is locked.
            """
    )
    var exitCode = false

    func run() throws {
        let report = try Reports.anyStatus(profile)
        if json { try Output.json(report) } else { show(report) }
        guard exitCode else { return }
        if report.locked != nil { throw ExitCode(75) }
        let hasFailed = report.vaults.contains {
            !$0.isOpen || $0.stopped != nil || $0.unstored != nil || $0.sync?.failure != nil
                || $0.sync?.isRemoteFull == true
        }
        if hasFailed { throw ExitCode(74) }
        let isDoubtful = report.vaults.contains { $0.sync?.doubts.isEmpty == false }
        if isDoubtful || !report.problems.isEmpty { throw ExitCode(65) }
    }

    private func place(_ report: StatusReport) -> String {
        if let point = report.mountPoint { return point }
        return report.detachedFrom.map { "no longer at \($0); it ends when no program uses it any longer" }
            ?? "no"
    }

    private func show(_ report: StatusReport) {
        if let locked = report.locked {
            Output.line("Profile  \(Output.visible(report.profile))")
            Output.line("Mounted  \(Output.visible(place(report)))")
            Output.line("Locked   since \(Output.moment(locked)); unlock it with: coffer unlock")
            showProblems(report)
            return
        }
        Output.line("Profile  \(Output.visible("\(report.profile) (\(report.name), \(report.device))"))")
        Output.line("Mounted  \(Output.visible(place(report)))")
        if let disk = report.disk {
            let lack =
                disk.reserve == 0 ? ", no room for a reserve: once the disk is full, removing may fail" : ""
            Output.line(
                "Disk     \(Output.bytes(Int64(disk.available))) free of \(Output.bytes(Int64(disk.total)))\(lack)"
            )
        }
        Output.line("")
        Reports.table(report.vaults)
        for vault in report.vaults {
            guard let sync = vault.sync else { continue }
            Reports.show(sync)
            if let limit = vault.cacheLimit {
                Output.line("  keeps at most \(Output.bytes(limit)) of content here")
            }
            if let pinned = vault.pinned { Output.line("  pinned: \(Reports.text(pinned))") }
        }
        for join in report.joins {
            Output.line(
                "\n\(Output.visible("\(join.vault) — \(join.remote)")), asked to join as \(join.role)")
            Output.line(
                "  \(join.delay ?? "no answer yet"); the invite expires \(Output.day(join.expires))")
        }
        showProblems(report)
    }

    private func showProblems(_ report: StatusReport) {
        if report.problems.isEmpty { return }
        Output.line("\nProblems")
        for problem in report.problems { Output.line("  \(Output.visible(problem.text))") }
    }
}

/// Fetches and prints reports.
enum Reports {
    /// The state of a profile that is not locked.
    static func status(_ options: ProfileOptions) throws -> StatusReport {
        let report = try anyStatus(options)
        if report.locked != nil { throw ClientError.locking(.locked) }
        return report
    }

    /// The state of a profile, which may be locked.
    static func anyStatus(_ options: ProfileOptions) throws -> StatusReport {
        let access = try Requests.open(options)
        defer { access.close() }
        return try Requests.perform(StatusRequest(), on: access)
    }

    static func table(_ vaults: [VaultReport]) {
        Output.table(
            ["VAULT", "ITEMS", "CONTENT", "STORE", ""],
            vaults.map { vault in
                [
                    vault.name, String(vault.items), Output.bytes(vault.contentBytes),
                    Output.bytes(vault.storeBytes), state(of: vault),
                ]
            })
    }

    /// A text about changes that were set aside because they may not be sent; nil if there are none.
    static func aside(_ sync: SyncReport) -> String? {
        sync.asideVault.map {
            "changes that you made before you lost the right to write are in the vault “\($0)”, on this device only"
        }
    }

    /// A text about a full remote: which one, how much waits to be sent, and what to do.
    static func fullRemote(_ sync: SyncReport) -> String {
        let waiting = sync.unsentItems > 0 ? "\(unsent(sync)) wait to be sent. " : ""
        return
            "the remote is full: \(sync.remote). \(waiting)Free space there; a mount then continues by itself."
    }

    /// The unsent items as text.
    private static func unsent(_ sync: SyncReport) -> String {
        let bytes = sync.unsentBytes > 0 ? " (\(Output.bytes(sync.unsentBytes)))" : ""
        return "\(Output.count(sync.unsentItems, "item"))\(bytes)"
    }

    /// The pinned content as text, with the part that is missing here.
    static func text(_ pinned: PinnedReport) -> String {
        let missing = pinned.missingBytes > 0 ? ", \(Output.bytes(pinned.missingBytes)) to fetch" : ""
        return "\(Output.count(pinned.files, "file")), \(Output.bytes(pinned.bytes))\(missing)"
    }

    /// Prints the sync of a vault.
    static func show(_ sync: SyncReport) {
        Output.line(
            "\n\(Output.visible("\(sync.vault) — \(sync.remote)"))\(sync.role.map { ", you are \($0)" } ?? "")"
        )
        if sync.isRemoteFull {
            Output.line("  \(Output.visible(fullRemote(sync)))")
        } else if let failure = sync.failure {
            let since = sync.offlineSince.map { ", offline since \(Output.moment($0))" } ?? ""
            Output.line("  not synced\(since): \(Output.visible(failure))")
        }
        if sync.sentBytes + sync.receivedBytes > 0 {
            Output.line(
                "  \(Output.bytes(sync.sentBytes)) sent and \(Output.bytes(sync.receivedBytes)) fetched since the start"
            )
        }
        if let arrival = sync.arrival { Output.line("  \(arrival)") }
        if let reason = sync.rotationOwed {
            Output.line("  the device of an owner or admin will rotate the keys: \(reason)")
        }
        if sync.oldEpochBytes > 0 {
            Output.line("  \(Output.bytes(sync.oldEpochBytes)) are to be re-encrypted with the current keys")
        }
        if let aside = aside(sync) { Output.line("  \(Output.visible(aside))") }
        for finding in sync.findings { Output.line("  \(Output.visible(finding))") }
        for device in sync.devices where !device.isThis {
            let place = Output.visible(sync.place(of: device))
            var text = "  \(place): commit \(device.commit), \(Output.day(device.time))"
            if !device.isMembers {
                text += ", no longer a member's"
            } else if !device.hasOurs {
                text += ", does not have all your changes yet"
            }
            Output.line(text)
        }
    }

    private static func state(of vault: VaultReport) -> String {
        if !vault.isOpen { return "cannot be opened" }
        if let stopped = vault.stopped { return "read-only: \(stopped)" }
        if let unstored = vault.unstored { return "not stored yet: \(unstored)" }
        guard let sync = vault.sync else { return "" }
        if sync.isRemoteFull { return "remote full: \(unsent(sync)) not sent" }
        if let failure = sync.failure { return "not synced: \(failure)" }
        let count = sync.unsentItems
        let speed = sync.bytesPerSecond > 0 ? ", \(Output.bytes(sync.bytesPerSecond))/s" : ""
        if count > 0 {
            let bytes = sync.unsentBytes > 0 ? ", \(Output.bytes(sync.unsentBytes))" : ""
            let time = TimeText.of(sync.unsentBytes, at: sync.bytesPerSecond).map { ", \($0)" } ?? ""
            return "\(Output.count(count, "item")) to send\(bytes)\(speed)\(time)"
        }
        if sync.phase != "idle" { return "\(sync.phase)\(speed)" }
        return sync.lastRound == nil ? "nothing to send" : "synced"
    }
}

/// Performs requests to a profile.
enum Requests {
    /// Opens the profile through its mount, or otherwise with the passphrase; the caller must close it.
    ///
    /// - Parameter holdingSignals: Whether to hold the signals that end a process, for `Interruption`.
    static func open(_ options: ProfileOptions, holdingSignals: Bool = false) throws -> ProfileAccess {
        try ProfileAccess.open(try options.location()) { () throws(ClientError) in
            // Hold signals before other threads start, but after the prompt, which handles Ctrl-C itself.
            defer { if holdingSignals { EndingSignals.hold() } }
            return try Passphrase(options: options).ask()
        }
    }

    /// Performs a request with a progress bar.
    static func perform<Request: ControlRequest>(
        _ request: Request, on access: ProfileAccess, label: String = "", stream: Int32? = nil,
        isHeard: @escaping @Sendable () -> Bool = { true }
    ) throws -> Request.Answer {
        let bar = ProgressBar(label)
        defer { bar.end() }
        return try access.perform(request, isHeard: isHeard, stream: stream) { bar.show($0) }
    }

    /// Opens the profile, performs one request, and closes it.
    @discardableResult
    static func perform<Request: ControlRequest>(
        _ request: Request, _ options: ProfileOptions, label: String = ""
    ) throws -> Request.Answer {
        let access = try Requests.open(options)
        defer { access.close() }
        return try perform(request, on: access, label: label)
    }
}
