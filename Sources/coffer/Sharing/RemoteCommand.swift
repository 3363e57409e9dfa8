internal import ArgumentParser
internal import CofferClient

struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote", abstract: "Say where a vault is synced to.",
        discussion: """
            A remote is a place that you, your other devices, and other members can reach, and that nobody has to \
            trust: all that is put there is sealed. It is given as a URL without a password, as in \
            file:///mnt/nas/coffer for a folder.
            """,
        subcommands: [Add.self, List.self, Remove.self, Test.self])

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Publish a vault at a remote, and sync it.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.") var vault: String
        @Argument(help: ArgumentHelp("Where, as in file:///mnt/nas/coffer.", valueName: "url")) var url:
            String

        func run() throws {
            try Requests.perform(.addRemote(vault: vault, url: url), profile, label: vault)
            Output.error("“\(vault)” is synced to \(url). A mount keeps it so; else: coffer sync")
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List vaults with their remotes.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            let syncs = try Reports.status(profile).vaults.compactMap(\.sync)
            if json { return try Output.json(syncs) }
            Output.table(["VAULT", "REMOTE"], syncs.map { [$0.vault, $0.remote] })
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sync a vault no more.",
            discussion: """
                The vault stays on this device, and at the remote. This device does not hear of the others any more, \
                and they not of it; you stay a member.
                """)
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.") var vault: String

        func run() throws {
            try Requests.perform(.removeRemote(vault: vault), profile)
        }
    }

    struct Test: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Try whether a remote does what it must; leaves nothing there.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "A vault that has a remote, or a URL.") var target: String

        func run() throws {
            let remote: RemoteTarget = target.contains(":/") ? .url(target) : .vault(target)
            guard case .remoteTest(let report) = try Requests.perform(.testRemote(remote), profile) else {
                throw ProfileError.otherAnswer
            }
            if json { try Output.json(report) } else { Self.show(report) }
            if !report.isUsable { throw ExitCode(74) }
        }

        private static func show(_ report: RemoteTestReport) {
            Output.line(report.remote)
            Output.table(
                ["STEP", "TIME", ""],
                report.steps.map { step in
                    [step.name, "\(Output.figure(step.milliseconds)) ms", step.failure ?? "ok"]
                })
        }
    }
}
