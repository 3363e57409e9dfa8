internal import ArgumentParser
internal import CofferClient
internal import Glibc

struct VaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault", abstract: "Create, list, configure, rename, delete, export and import vaults.",
        subcommands: [
            Create.self, List.self, Info.self, Set.self, Rename.self, Delete.self, Export.self, Import.self,
        ])

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an empty vault.",
            discussion: "In a mount, “mkdir ~/Coffer/NAME” does the same. Names do not begin with a dot.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The name of the new vault.") var vault: String

        func run() throws {
            try Requests.perform(VaultRequest.create(name: vault), profile)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the vaults, one name per line.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            let vaults = try Reports.status(profile).vaults
            if json { return try Output.json(vaults) }
            for vault in vaults { Output.line(Output.visible(vault.name)) }
        }
    }

    struct Info: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the size and the settings of a vault.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            guard
                let report = try Reports.status(profile).vaults.first(where: {
                    $0.name.hasSameBytes(as: vault)
                })
            else {
                throw ClientError.vaultName(.noSuchVault(name: vault))
            }
            if json { return try Output.json(report) }
            Output.line("Name     \(Output.visible(report.name))")
            Output.line("Id       \(report.id)")
            Output.line("Epoch    \(report.epoch)")
            Output.line("Items    \(report.items)")
            Output.line("Content  \(Output.bytes(report.contentBytes))")
            let history = Self.history(report)
            if !history.isEmpty { Output.line("History  \(history)") }
            Output.line("Store    \(Output.bytes(report.storeBytes))")
            if let limit = report.cacheLimit { Output.line("Cache    at most \(Output.bytes(limit))") }
            if let pinned = report.pinned { Output.line("Pinned   \(Reports.text(pinned))") }
            if !report.isOpen { Output.line("State    cannot be opened") }
            if let stopped = report.stopped { Output.line("State    read-only: \(stopped)") }
        }

        private static func history(_ report: VaultReport) -> String {
            var parts: [String] = []
            if let seconds = report.historySeconds, seconds != 0 {
                parts.append("kept \(Retention.text(seconds))")
            }
            if report.historyBytes > 0 {
                parts.append("\(Output.bytes(report.historyBytes)) that is not in the present contents")
            }
            if report.snapshots > 0 {
                parts.append("\(report.snapshots) snapshot\(report.snapshots == 1 ? "" : "s")")
            }
            return parts.joined(separator: ", ")
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set how much of a vault this device keeps, and for how long the past is kept.",
            discussion: """
                --cache: Without a limit, this device keeps all content that it has fetched or written. With one, it evicts the \
                least recently used content that is also at the remote, and fetches it again when it is read. Content \
                that has not been sent, or is pinned, stays and does not count. The limit applies to this device only.

                --history: Keeps past states of the vault for a time, for “coffer history”, “coffer diff” and “coffer \
                restore”, and in the hidden folder .coffer/history of the vault. The past takes space for what was \
                deleted or overwritten. With “none”, which is how a vault begins, nothing of the past is kept, and what \
                was kept goes; remove its snapshots first. In a shared vault, owners and admins set this for the devices \
                of all members. Until one of them has, other members can set it for their own devices.

                Examples:
                  coffer vault set --history 14d Personal
                  coffer vault set --cache 20G Personal
                  coffer vault set --cache all Personal
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(help: "The limit: 500M or 2G (powers of 1000), 2GiB, or “all” for none.") var cache:
            CacheSize?
        @Option(help: "How long: 12h, 14d, 8w, “forever”, or “none”.") var history: Retention?
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func validate() throws {
            if cache == nil, history == nil { throw ValidationError("Give --cache or --history.") }
        }

        func run() throws {
            let access = try Requests.open(profile)
            defer { access.close() }
            if let cache {
                let request = VaultRequest.limitCache(vault: vault, to: cache.byteCount)
                _ = try Requests.perform(request, on: access)
            }
            guard let history else { return }
            let request = VaultRequest.keepHistory(vault: vault, seconds: history.seconds)
            _ = try Requests.perform(request, on: access)
        }
    }

    struct Rename: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Rename a vault on this device. Other members keep their name for it.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The new name.") var newName: String

        func run() throws {
            try Requests.perform(VaultRequest.rename(name: vault, newName: newName), profile)
        }
    }

    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a vault and everything in it, for good.",
            discussion: """
                If the vault has a remote, the encrypted copy there stays, and other members keep the vault. --at-remote \
                deletes that copy, too; only an owner without other members can do this. Unless the vaults are mounted, \
                no other command can use the profile while this one waits for an answer.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(name: .shortAndLong, help: "Do not ask for confirmation.") var yes = false
        @Flag(help: "Also delete the copy at the remote.") var atRemote = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            let access = try Requests.open(profile)
            defer { access.close() }
            let remote = try remote(access)
            if atRemote, remote == nil { throw ClientError.remoteSetting(.noRemote(vault: vault)) }
            if !yes { try ask(remote) }
            _ = try Requests.perform(
                VaultRequest.delete(name: vault, atRemote: atRemote), on: access, label: "Deleting")
            if let remote, !atRemote { Output.error("\(remote) keeps its encrypted copy.") }
        }

        /// Returns the URL of the vault's remote; nil without one.
        private func remote(_ access: ProfileAccess) throws -> String? {
            let status = try Requests.perform(StatusRequest(), on: access)
            guard let report = status.vaults.first(where: { $0.name.hasSameBytes(as: vault) }) else {
                throw ClientError.vaultName(.noSuchVault(name: vault))
            }
            return report.sync?.remote
        }

        private func ask(_ remote: String?) throws {
            guard isatty(STDIN_FILENO) == 1 else {
                throw ValidationError("There is no terminal to ask whether to delete “\(vault)”. Use --yes.")
            }
            var scope = "This deletes everything in the vault “\(vault)” for good"
            if let remote {
                scope +=
                    atRemote
                    ? ", also at \(remote)"
                    : " from this device. \(remote) keeps the encrypted copy (--at-remote deletes that, too)"
            }
            Output.ask("\(scope). Type the vault's name to continue:")
            guard readLine()?.hasSameBytes(as: vault) == true else {
                Output.error("Nothing was done.")
                throw ExitCode(1)
            }
        }
    }
}
