internal import ArgumentParser
internal import CofferClient

struct RecoveryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery", abstract: "Come back with a key on paper when everything else is lost.",
        discussion: """
            Two things bring you back: a recovery key, which you print and keep, and a profile backup, an encrypted \
            file that you can keep anywhere. The files of your vaults then come from their remotes. The recovery key \
            also replaces a forgotten passphrase.

            Examples:
              coffer recovery create --svg sheet.svg --backup coffer.backup
              coffer recovery restore coffer.backup
              coffer recovery passphrase
            """,
        subcommands: [
            RecoveryCreate.self, RecoveryBackup.self, RecoveryRestore.self, RecoveryPassphrase.self,
            RecoveryList.self, RecoveryRevoke.self,
        ])
}

struct RecoveryBackup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Write a backup of the profile.",
        discussion: """
            The backup is small and encrypted: only the passphrase of today or a recovery key opens it. It holds your \
            identity, and the keys and the remotes of your vaults, but no files. Make a new one after you have created, \
            joined, or shared a vault; “coffer recovery list” says when one is due. An earlier backup of this profile is \
            replaced.
            """)
    @OptionGroup var profile: ProfileOptions
    @Argument(help: "The file to write.", completion: .file()) var file: String

    func run() throws {
        let access = try Requests.open(profile)
        defer { access.close() }
        let report = try access.perform(RecoveryRequest.list)
        let backup = BackupFile(path: file)
        let location = try profile.location()
        try backup.check(profile: report.profile, at: location)
        try backup.write(access, profile: report.profile, at: location)
        if !report.keys.contains(where: { $0.revoked == nil }) {
            Output.error(
                "Note: The profile has no recovery key, so only the passphrase opens the backup. Make one with: coffer recovery create"
            )
        }
    }
}

struct RecoveryList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the recovery keys, and what the last backup lacks.")
    @OptionGroup var profile: ProfileOptions
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        let report = try Requests.perform(RecoveryRequest.list, profile)
        if json { return try Output.json(report) }
        Output.table(
            ["KEY", "MADE", "STATE"],
            report.keys.map { key in
                [
                    KeyName.short(key.id), Output.day(key.created),
                    key.revoked.map { "revoked on \(Output.day($0))" } ?? "opens the profile",
                ]
            })
        if !report.keys.contains(where: { $0.revoked == nil }) {
            Output.error("No recovery key opens the profile. Make one with: coffer recovery create")
        }
        if let backup = report.backup {
            Output.error("The last backup was made at \(Output.moment(backup)).")
            Self.compare(report.keys)
        } else {
            Output.error("No backup has been made. Make one with: coffer recovery backup")
        }
        GapText.warn(of: report)
    }

    /// Names keys that open the last backup and not the profile, or the other way round.
    private static func compare(_ keys: [RecoveryKeyReport]) {
        for key in keys {
            let name = KeyName.short(key.id)
            if key.revoked != nil, key.opensBackup == true {
                Output.error(
                    "Note: The last backup still opens with \(name), which is revoked. Delete it, and make a new one with: coffer recovery backup"
                )
            } else if key.revoked == nil, key.opensBackup == false {
                Output.error(
                    "Note: The last backup is older than \(name), which does not open it. Make a new one with: coffer recovery backup"
                )
            }
        }
    }
}

struct RecoveryRevoke: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Make a recovery key useless.",
        discussion: """
            The key by itself then opens neither the profile nor any later backup. Backups that were made before still \
            open with it: delete them, and make a new one. If somebody may have both the sheet and such a backup, or an \
            earlier copy of the profile, that person can read what is in them, in the profile of today, and in all later \
            backups: make a new profile, and move your files.
            """)
    @OptionGroup var profile: ProfileOptions
    @Flag(help: "Revoke all recovery keys.") var all = false
    @Flag(name: .shortAndLong, help: "Do not ask for confirmation.") var yes = false
    @Argument(help: "The key, as the sheet and “coffer recovery list” name it: at least four digits of it.")
    var key: String?

    func validate() throws {
        if all == (key != nil) { throw ValidationError("Give either KEY or --all.") }
    }

    func run() throws {
        let access = try Requests.open(profile)
        defer { access.close() }
        let what = key.map { "The recovery key “\($0)”" } ?? "Every recovery key"
        try Question.ask("\(what) will open nothing any more. Revoke it?", yes)
        _ = try access.perform(RecoveryRequest.revoke(id: key))
        Output.error(
            "\(what) is revoked. Earlier backups still open with it: delete them, and make a new one with: coffer recovery backup"
        )
    }
}
