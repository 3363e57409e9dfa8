internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

struct ConflictsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List files that were changed on two devices at once, and choose a version.",
        discussion: """
            Nothing is lost when two devices change the same file at the same time: both versions stay, one of them as \
            “name (conflict, device, date)”. Both are ordinary files.

            Examples:
              coffer conflicts
              coffer conflicts resolve --keep original Plans "todo (conflict, …).txt"
            """,
        subcommands: [List.self, Resolve.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List conflict copies.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The vault (default: all).", completion: Completions.vaults) var vault: String?

        func run() throws {
            let reports = try Requests.perform(ConflictsRequest(vault: vault), profile)
            if json { return try Output.json(reports) }
            if reports.isEmpty { return Output.error("There are no conflicts.") }
            Output.table(
                ["VAULT", "COPY", "OF", "BY", "DATE"],
                reports.map { report in
                    [report.vault, report.path, report.original ?? "–", report.author, report.date]
                })
        }
    }

    struct Resolve: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep one of two versions, and delete the other.")
        @OptionGroup var profile: ProfileOptions
        @Option(help: "original: delete the copy. copy: put the copy in the place of the original.") var keep:
            ConflictChoice
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(
            help: "The conflict copy, as “coffer conflicts” shows it, or its path in the mount.",
            completion: .file())
        var path: String

        func run() throws {
            let path = try pathInVault
            try Requests.perform(ResolveRequest(vault: vault, path: path, keeps: keep), profile)
        }

        /// The path below the vault's root.
        ///
        /// A shell completes paths in the mount; if such a file exists there, that path is meant.
        private var pathInVault: String {
            get throws {
                let whole = Directory.absolute(path)
                if let point = try profile.location().lockNote?.mountPoint, !point.isEmpty,
                    path.hasPrefix("/") || isThere(whole)
                {
                    let directory = try? Directory.resolve(Directory.parent(of: whole))
                    let name = whole.split(separator: "/").last ?? ""
                    for place in [whole, "\(directory ?? "")/\(name)"]
                    where place.hasPrefix("\(point)/\(vault)/") {
                        let found = String(place.dropFirst(point.count + vault.count + 2))
                        if !path.hasPrefix("/"), found != path, isThere("\(point)/\(vault)/\(path)") {
                            throw ValidationError("The path matches two files. Give the absolute path.")
                        }
                        return found
                    }
                }
                return path.hasPrefix("/") ? String(path.drop { $0 == "/" }) : path
            }
        }

        private func isThere(_ path: String) -> Bool {
            unsafe faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0
        }
    }
}

extension ConflictChoice: ExpressibleByArgument {}
