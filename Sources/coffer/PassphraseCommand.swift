internal import ArgumentParser
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem

struct PassphraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passphrase", abstract: "Change the passphrase. Vaults are not touched.")

    @OptionGroup var profile: ProfileOptions

    @Option(
        help: ArgumentHelp("Read the new passphrase from a file instead of asking for it.", valueName: "file")
    )
    var newPassphraseFile: String?

    @Option(
        help:
            "A hint to show after three wrong passphrases (default: none). Anyone who has the profile can read it."
    )
    var hint: String?

    @Option(
        help:
            "The memory that each attempt at the passphrase takes: interactive 64 MiB, moderate 256 MiB, sensitive 1 GiB."
    )
    var strength = Strength.moderate

    func run() throws {
        let location = try profile.location()
        try Profile.check(location)
        let old = try Passphrase(options: profile).ask("Current passphrase: ")
        let oldBytes = old.withBytes { $0.array }
        let access = try ProfileAccess.open(location) { () throws(ClientError) in
            old.duplicate()
        }
        defer { access.close() }
        let new: SecretBytes
        if let newPassphraseFile {
            new = try Passphrase.read(file: newPassphraseFile)
            Passphrase.remark(on: new)
        } else {
            new = try Passphrase.promptTwice("New passphrase: ")
        }
        let request = ProfileRequest.changePassphrase(
            old: oldBytes, new: new.withBytes { $0.array }, hint: hint, passes: strength.hash.passes,
            memory: strength.hash.memory)
        _ = try Requests.perform(request, on: access)
        Output.error("The passphrase has been changed.")
    }
}
