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
                and they not of it; you stay a member. Contents that nobody has read here yet are at the remote only: \
                if there are any, nothing is done, unless you say what is to become of them.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Fetch all contents first.") var fetch = false
        @Flag(help: "Contents that are at the remote only cannot be read any more.") var force = false
        @Argument(help: "The vault.") var vault: String

        func validate() throws {
            if fetch, force { throw ValidationError("Say either --fetch or --force.") }
        }

        func run() throws {
            let contents: RemoteOnly = force ? .lose : fetch ? .fetch : .refuse
            let request = ControlRequest.removeRemote(vault: vault, contents: contents)
            try Requests.perform(request, profile, label: "Fetching")
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
