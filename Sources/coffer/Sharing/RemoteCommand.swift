internal import ArgumentParser
internal import CofferClient
internal import CofferRemote
internal import CofferSystem

struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote", abstract: "Say where a vault is synced to.",
        discussion: """
            A remote is a place that you, your other devices, and other members can reach, and that nobody has to \
            trust: all that is put there is sealed. A folder is given by its path, as in /mnt/nas/coffer; anything else \
            by a URL without a password. Each member has a path of their own: the folder may be mounted anywhere.
            """,
        subcommands: [Add.self, List.self, Move.self, Remove.self, Test.self])

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Publish a vault at a remote, and sync it.")
        @OptionGroup var profile: ProfileOptions
        @OptionGroup var target: VaultAndPlace

        func run() throws {
            let (vault, url) = (target.vault, target.place.url)
            try Requests.perform(.addRemote(vault: vault, url: url), profile, label: vault)
            Output.error("“\(vault)” is synced to \(url). A mount keeps it so; else: coffer sync")
        }
    }

    struct Move: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Go on syncing a vault at another place.",
            discussion: """
                For a folder that is mounted elsewhere now, or that was copied, with all that is in it, to another \
                storage. If the other place does not have the vault, everything stays as it is. Other members say \
                it for themselves.
                """)
        @OptionGroup var profile: ProfileOptions
        @OptionGroup var target: VaultAndPlace

        func run() throws {
            let (vault, url) = (target.vault, target.place.url)
            try Requests.perform(.moveRemote(vault: vault, url: url), profile, label: vault)
            Output.error("“\(vault)” is synced to \(url) from now on.")
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
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

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
        @Argument(
            help: ArgumentHelp(
                "A vault that has a remote, or a path, or a URL.", valueName: "vault or place"),
            completion: .directory)
        var target: String

        func run() throws {
            let report = try Self.report(on: target, profile)
            if json { try Output.json(report) } else { Self.show(report) }
            if !report.isUsable { throw ExitCode(74) }
        }

        private static func report(on target: String, _ profile: ProfileOptions) throws -> RemoteTestReport {
            // The name of a vault has no slash. A place needs no profile, and so no passphrase.
            if target.contains("/") { return try RemoteTrial.run(RemoteArgument(target).url) }
            let response = try Requests.perform(.testRemote(.vault(target)), profile)
            guard case .remoteTest(let report) = response else { throw ProfileError.otherAnswer }
            return report
        }

        private static func show(_ report: RemoteTestReport) {
            Output.line(Output.visible(report.remote))
            Output.table(
                ["STEP", "TIME", ""],
                report.steps.map { step in
                    [step.name, "\(Output.figure(step.milliseconds)) ms", step.failure ?? "ok"]
                })
        }
    }
}

/// Which vault, and at which remote.
struct VaultAndPlace: ParsableArguments {
    @Argument(help: "The vault.", completion: Completions.vaults)
    var vault: String

    @Argument(
        help: ArgumentHelp("Where, as in /mnt/nas/coffer.", valueName: "path or url"), completion: .directory)
    var place: RemoteArgument
}

/// A remote as it is written: a path, also a relative one, or a URL.
struct RemoteArgument: ExpressibleByArgument {
    /// A URL or an absolute path: a mount has another working directory.
    let url: String

    init(_ text: String) {
        url = RemoteURL.hasScheme(text) ? text : Directory.absolute(text)
    }

    init?(argument: String) {
        if argument.isEmpty { return nil }
        self.init(argument)
    }
}
