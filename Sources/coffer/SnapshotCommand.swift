internal import ArgumentParser
internal import CofferClient

struct SnapshotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot", abstract: "Keep states of a vault under a name, until they are removed.",
        discussion: """
            A snapshot is the vault as it is when the command runs. It stays whatever “coffer vault set --history” says, on \
            this device. Nothing is copied: it takes space for what is deleted or overwritten later. Its name stands for a \
            time in “coffer restore --at” and “coffer diff”, and is a folder in the mount: \
            ~/Coffer/Plans/.coffer/history/NAME.

            Examples:
              coffer snapshot Plans before-the-move
              coffer diff Plans --from before-the-move
              coffer restore Plans/2026 --at before-the-move
              coffer snapshot remove Plans before-the-move
            """,
        subcommands: [Create.self, List.self, Remove.self], defaultSubcommand: Create.self)

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a name to the present state of a vault.",
            discussion: """
                The vault must keep its past: “coffer vault set --history 14d”. The name has 1 to 100 bytes, without “/” and \
                control characters. It does not begin with “-” or a space, and does not read as a time.
                """)
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The name of the new snapshot.") var name: String

        func run() throws {
            try Requests.perform(SnapshotRequest.create(vault: vault, name: name), profile)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List snapshots, the oldest first.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The vault (default: all).", completion: Completions.vaults) var vault: String?

        func run() throws {
            let snapshots = try Requests.perform(
                SnapshotRequest.list(vault: vault), profile, label: "Reading")
            if json { return try Output.json(snapshots) }
            if snapshots.isEmpty { return Output.error("There are no snapshots.") }
            Output.table(
                ["VAULT", "MADE", "NAME"],
                snapshots.map {
                    [
                        $0.vault, Output.moment($0.created),
                        $0.name + ($0.since == nil ? " (damaged: its state is lost)" : ""),
                    ]
                })
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a snapshot.",
            discussion: """
                Its state stays for as long as the history keeps it. After that, what only the snapshot kept is deleted for \
                good.
                """)
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The name of the snapshot.", completion: Completions.snapshots) var name: String

        func run() throws {
            try Requests.perform(SnapshotRequest.remove(vault: vault, name: name), profile)
        }
    }
}
