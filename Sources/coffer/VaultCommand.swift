internal import ArgumentParser
internal import CofferClient
internal import Glibc

struct VaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault", abstract: "Make, list, set up, rename and delete vaults.",
        subcommands: [Create.self, List.self, Info.self, Set.self, Rename.self, Delete.self])

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make an empty vault.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "Its name.") var vault: String

        func run() throws {
            try Requests.perform(.createVault(name: vault), profile)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the vaults, one name on each line.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            let vaults = try Reports.status(profile).vaults
            if json { return try Output.json(vaults) }
            for vault in vaults { Output.line(Output.visible(vault.name)) }
        }
    }

    struct Info: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Tell about a vault.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "Its name.", completion: Completions.vaults) var vault: String

        func run() throws {
            guard
                let report = try Reports.status(profile).vaults.first(where: {
                    $0.name.hasSameBytes(as: vault)
                })
            else {
                throw ProfileError.noSuchVault(name: vault)
            }
            if json { return try Output.json(report) }
            Output.line("Name     \(Output.visible(report.name))")
            Output.line("Id       \(report.id)")
            Output.line("Epoch    \(report.epoch)")
            Output.line("Items    \(report.items)")
            Output.line("Content  \(Output.bytes(report.contentBytes))")
            Output.line("Store    \(Output.bytes(report.storeBytes))")
            if let limit = report.cacheLimit { Output.line("Cache    at most \(Output.bytes(limit))") }
            if let pinned = report.pinned { Output.line("Pinned   \(Reports.text(pinned))") }
            if !report.isOpen { Output.line("State    cannot be opened") }
            if let stopped = report.stopped { Output.line("State    only readable: \(stopped)") }
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set how a vault is kept on this device.",
            discussion: """
                Contents that the vault's remote has, too, stay on this device once they are here. With a limit, those that \
                were used longest ago are given up when there are more, and fetched again when they are read. What is \
                not sent yet stays, and does not count. It holds for this device, until it is set anew.
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(help: "How much stays: as 500M, 2G (powers of 1000), 2GiB, or “all”.") var cache: CacheSize
        @Argument(help: "Its name.", completion: Completions.vaults) var vault: String

        func run() throws {
            try Requests.perform(.setCacheLimit(vault: vault, cache.byteCount), profile)
        }
    }

    struct Rename: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Give a vault another name.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "Its name.", completion: Completions.vaults) var vault: String
        @Argument(help: "Its new name.") var newName: String

        func run() throws {
            try Requests.perform(.renameVault(name: vault, newName: newName), profile)
        }
    }

    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a vault with all that is in it, for good.",
            discussion: """
                What lies at the vault's remote stays there, and other members keep the vault. With --at-remote it goes there, \
                too; an owner can do that once nobody else is a member. Without a mount, no other command can use the \
                profile while this one asks.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
        @Flag(help: "Delete what lies at its remote, too.") var atRemote = false
        @Argument(help: "Its name.", completion: Completions.vaults) var vault: String

        func run() throws {
            let access = try Requests.open(profile)
            defer { access.close() }
            let remote = try remote(access)
            if !yes { try ask(remote) }
            _ = try Requests.perform(
                .deleteVault(name: vault, atRemote: atRemote), on: access, label: "Deleting")
            if let remote, !atRemote { Output.error("\(remote) keeps its sealed copy.") }
        }

        /// Where the vault is synced to, if it is.
        private func remote(_ access: ProfileAccess) throws -> String? {
            guard case .status(let status) = try Requests.perform(.status, on: access) else {
                throw ProfileError.otherAnswer
            }
            guard let report = status.vaults.first(where: { $0.name.hasSameBytes(as: vault) }) else {
                throw ProfileError.noSuchVault(name: vault)
            }
            return report.sync?.remote
        }

        private func ask(_ remote: String?) throws {
            guard isatty(STDIN_FILENO) == 1 else {
                throw ValidationError("Nobody can be asked whether to delete “\(vault)”; say --yes.")
            }
            var scope = "All that is in the vault “\(vault)” will be gone for good"
            if let remote {
                scope +=
                    atRemote
                    ? ", at \(remote), too"
                    : " from this device. \(remote) keeps what lies there, sealed (--at-remote deletes that, too)"
            }
            Output.error("\(scope). Type its name to go on:")
            guard readLine()?.hasSameBytes(as: vault) == true else {
                Output.error("Nothing was done.")
                throw ExitCode(1)
            }
        }
    }
}
