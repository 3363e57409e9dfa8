internal import ArgumentParser
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import CofferTrust
internal import Glibc

struct RecoveryRestore: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Make a profile on a new machine from a backup.",
        discussion: """
            Asks for the words of the recovery sheet, then for a new passphrase. You are the same person as before, on \
            a new device. Vaults with a remote come back when they are next synced; the files of other vaults were only \
            on the old device. Do not use the old device any more, if it is found again; after a drill, run “coffer \
            identity roll” and “coffer sync” there before you delete the profile that was restored.

            Examples:
              coffer recovery restore coffer.backup
              coffer recovery restore coffer.backup --with-passphrase
            """)
    @OptionGroup var profile: ProfileOptions
    @OptionGroup var key: RecoveryKeyOption
    @Flag(
        help:
            "Open the backup with the passphrase that the profile had, instead of the recovery key. It stays the passphrase; recovery keys have to be made anew."
    )
    var withPassphrase = false
    @Option(help: ArgumentHelp("This machine's name (default: its host name).", valueName: "name"))
    var device: String?
    @OptionGroup var settings: PassphraseSettings
    @Flag(help: "Print JSON.") var json = false
    @Argument(help: "The backup.", completion: .file()) var backup: String

    func validate() throws {
        if withPassphrase, key.recoveryKeyFile != nil {
            throw ValidationError("Give either --with-passphrase or --recovery-key-file.")
        }
    }

    func run() throws {
        let location = try profile.location()
        if location.exists {
            throw ClientError.profile(.profileExists(path: location.path, home: profile.home.home))
        }
        let backup = try ProfileBackup(file: backup)
        if withPassphrase {
            let passphrase = try Passphrase(options: profile).ask("Passphrase of the backup: ")
            return try restore(try backup.open(passphrase: passphrase), at: location, passphrase)
        }
        guard backup.knowsRecoveryKeys else { throw ClientError.recovery(.noRecoveryKey) }
        let opened = try open(backup)
        Output.error("The key opens the backup of \(opened.name), made at \(Output.moment(opened.made)).")
        try restore(opened, at: location, try Passphrase(options: profile).askForNew())
    }

    /// Opens the backup; at a terminal, the words can be typed again if they are another key's.
    private func open(_ backup: ProfileBackup) throws -> OpenedBackup {
        while true {
            let recovery = try key.read()
            do throws(ClientError) { return try backup.open(by: recovery) } catch {
                guard key.recoveryKeyFile == nil, case .recovery(.otherProfile) = error else { throw error }
                Output.error("coffer: \(error)")
                try Question.ask("Type the words of another sheet?", false)
            }
        }
    }

    private func restore(
        _ opened: OpenedBackup, at location: ProfileLocation, _ passphrase: borrowing SecretBytes
    ) throws {
        let label = InitCommand.label(of: device, ownedBy: opened.name)
        let report = try Profile.restore(
            opened, at: location, passphrase: passphrase,
            Profile.RestoreSettings(device: label, hint: settings.hint, strength: settings.strength.hash))
        if json { return try Output.json(report) }
        show(report)
    }

    private func show(_ report: RestoreReport) {
        Output.error(
            "Made a profile for \(report.name) in \(report.profile), on the device “\(report.device)”.")
        for vault in report.vaults { Output.error("“\(vault.vault)” comes back from \(vault.remote).") }
        for name in report.lost {
            Output.error(
                "“\(name)” had no remote: its files were only on the old device, and do not come back.")
        }
        let home = profile.home.home.map { " --home \(ShellWord.quoted($0))" } ?? ""
        Output.error("Show your vaults as a folder with: coffer mount\(home) ~/Coffer")
        if !report.vaults.isEmpty {
            Output.error(
                "If a remote is at another place on this machine, say so with: coffer remote move\(home) VAULT PLACE"
            )
            Output.error(
                "Members of shared vaults now seal keys for this device. If the old one stays in use, as after a drill, run there before you delete this profile: coffer identity roll, and then coffer sync"
            )
        }
        if report.keepsRecoveryKey {
            Output.error(
                "Your recovery sheet and the backup stay valid. If somebody else may have seen the sheet, revoke it and make another."
            )
        } else {
            Output.error(
                "Recovery sheets do not open the new profile. Make one with: coffer recovery create\(home)")
        }
        if report.keepsRecoveryKey, report.droppedKeys > 0 {
            Output.error(
                "\(Output.count(report.droppedKeys, "other recovery key")) of the old profile do not open the new one."
            )
        }
    }
}

struct RecoveryPassphrase: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passphrase", abstract: "Replace a forgotten passphrase with the recovery key.",
        discussion: "The vaults must not be mounted. Nothing else changes, and the recovery key stays valid.")
    @OptionGroup var home: HomeOption
    @OptionGroup var key: RecoveryKeyOption
    @OptionGroup var new: NewPassphraseOptions

    func run() throws {
        let location = try home.location()
        try Profile.check(location)
        let lock = try location.takeLock()
        let recovery = try key.read()
        try Profile.check(location, recovery: recovery)
        let passphrase = try new.read()
        try Profile.replacePassphrase(
            location, lock, recovery: recovery, with: passphrase, hint: new.settings.hint,
            strength: new.settings.strength.hash)
        Output.error("The passphrase has been changed.")
    }
}
