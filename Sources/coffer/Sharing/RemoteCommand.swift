internal import ArgumentParser
internal import CofferClient
internal import CofferRemote
internal import CofferSystem

struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote", abstract: "Manage where vaults are synced to.",
        discussion: """
            A remote is a place that all members of a vault can reach. Nobody has to trust it: everything there is \
            encrypted. A remote is a folder, given by its path, or a URL without a password. The folder may have a \
            different path on each device.

            The keys of S3 are those of Amazon's tools: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
            ~/.aws/credentials. The password for WebDAV is that of ~/.netrc, or of COFFER_WEBDAV_PASSWORD for \
            the server in COFFER_WEBDAV_SERVER. Where there are none, Coffer uses those that it was given with \
            “coffer remote login”. SFTP uses your ssh: its keys, agent, and known hosts. “rclone:” uses \
            your rclone and its remotes.

            Examples:
              coffer remote add Personal /mnt/nas/coffer
              coffer remote add Personal s3://bucket/prefix
              coffer remote add Personal s3:https://minio.example:9000/bucket
              coffer remote add Personal webdavs://me@dav.example/coffer
              coffer remote add Personal sftp://me@host.example/srv/coffer
              coffer remote add Personal rclone:drive:coffer
              coffer remote test /mnt/nas/coffer
            """,
        subcommands: [
            Add.self, List.self, Login.self, Logout.self, Move.self, Remove.self, Test.self,
        ])

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Give a vault a remote, and sync it.")
        @OptionGroup var profile: ProfileOptions
        @OptionGroup var target: VaultAndPlace

        func run() throws {
            let (vault, url) = (target.vault, target.place.url)
            try Requests.perform(RemoteRequest.add(vault: vault, url: url), profile, label: vault)
            Output.error(
                "“\(vault)” is synced to \(url). A mount keeps it synced; without one, use: coffer sync")
        }
    }

    struct Move: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change the place of a vault's remote.",
            discussion: """
                Use this if the folder is now mounted elsewhere, or was copied as a whole to another storage. If the new \
                place does not have the vault, nothing changes. Other members change their own path themselves.
                """)
        @OptionGroup var profile: ProfileOptions
        @OptionGroup var target: VaultAndPlace

        func run() throws {
            let (vault, url) = (target.vault, target.place.url)
            try Requests.perform(RemoteRequest.move(vault: vault, url: url), profile, label: vault)
            Output.error("“\(vault)” is synced to \(url) from now on.")
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List vaults and their remotes.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            let syncs = try Reports.status(profile).vaults.compactMap(\.sync)
            if json { return try Output.json(syncs) }
            Output.table(
                ["VAULT", "REMOTE", "LOGIN"], syncs.map { [$0.vault, $0.remote, $0.hasLogin ? "set" : ""] })
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stop syncing a vault.",
            discussion: """
                The vault stays on this device and at the remote, and you stay a member, but changes no longer go \
                either way. If some content is only at the remote, nothing is done unless you choose --fetch or --force.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Fetch all content first.") var fetch = false
        @Flag(help: "Give up content that is only at the remote: it can no longer be read here.") var force =
            false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func validate() throws {
            if fetch, force { throw ValidationError("Give either --fetch or --force.") }
        }

        func run() throws {
            let contents: RemoteOnly = force ? .lose : fetch ? .fetch : .refuse
            let request = RemoteRequest.remove(vault: vault, contents: contents)
            try Requests.perform(request, profile, label: "Fetching")
        }
    }

    struct Test: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Test whether a remote works. Leaves nothing there.",
            discussion: """
                A test of a path or a URL needs no passphrase. A name without a slash is that of a vault if the mounted \
                profile has one of that name; otherwise that of a directory here, if there is one; otherwise that of a \
                vault. “./NAME” is always the directory.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Flag(help: "Use the credentials of “coffer remote login” for a place; this opens the profile.")
        var withLogin = false
        @Argument(
            help: ArgumentHelp(
                "A vault that has a remote, a path, or a URL.", valueName: "vault or place"),
            completion: .directory)
        var target: String

        func run() throws {
            let report = try report()
            if json { try Output.json(report) } else { Self.show(report) }
            if !report.isUsable { throw ExitCode(74) }
        }

        private func report() throws -> RemoteTestReport {
            // A test of a place needs no profile, and so no passphrase.
            if try isPlace {
                let url = RemoteArgument(target).url
                if withLogin { return try Requests.perform(RemoteTestRequest.url(url), profile) }
                return try RemoteTrial.run(url)
            }
            return try Requests.perform(RemoteTestRequest.vault(target), profile)
        }

        /// Whether the target is a path or a URL; the name of a vault has no slash.
        private var isPlace: Bool {
            get throws {
                if target.contains("/") || (try? RemoteURL(target)) != nil { return true }
                let known = Completions.names(of: nil, try profile.location())?.vaults ?? []
                if known.contains(where: { $0.hasSameBytes(as: target) }) { return false }
                return Directory.isDirectory(target)
            }
        }

        private static func show(_ report: RemoteTestReport) {
            Output.line(Output.visible(report.remote))
            Output.table(
                ["STEP", "TIME", ""],
                report.steps.map { step in
                    [step.name, "\(Output.figure(step.milliseconds)) ms", step.failure ?? "ok"]
                })
            for text in report.shortcomings { Output.line("Note: \(Output.visible(text))") }
        }
    }
}

/// The arguments for a vault and its remote.
struct VaultAndPlace: ParsableArguments {
    @Argument(help: "The vault.", completion: Completions.vaults)
    var vault: String

    @Argument(
        help: ArgumentHelp(
            "The remote, for example /mnt/nas/coffer or s3://bucket/prefix.", valueName: "path or url"),
        completion: .directory)
    var place: RemoteArgument
}

/// A remote given as a path, which may be relative, or as a URL.
struct RemoteArgument: ExpressibleByArgument {
    /// A URL or an absolute path, because a mount has another working directory.
    let url: String

    init(_ text: String) {
        url = RemoteURL.hasScheme(text) ? text : Self.path(text)
    }

    /// An absolute path without “.”, and without “..” if it leads to something.
    private static func path(_ text: String) -> String {
        let parts = Directory.absolute(text).split(separator: "/").filter { $0 != "." }
        let path = "/" + parts.joined(separator: "/")
        // What is above a symbolic link is above its target.
        guard parts.contains(".."), let resolved = try? Directory.resolve(path) else { return path }
        return resolved
    }

    init?(argument: String) {
        if argument.isEmpty { return nil }
        self.init(argument)
    }
}
