internal import ArgumentParser
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem

struct PassphraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passphrase", abstract: "Change the passphrase. Vaults are not touched.")

    @OptionGroup var profile: ProfileOptions

    @OptionGroup var new: NewPassphraseOptions

    func run() throws {
        let location = try profile.location()
        try Profile.check(location)
        try Profile.checkDelay(location)
        let old = try Passphrase(options: profile).ask("Current passphrase: ")
        let oldBytes = old.withBytes { $0.array }
        let access = try ProfileAccess.open(location) { () throws(ClientError) in
            old.duplicate()
        }
        defer { access.close() }
        let passphrase = try new.read()
        let strength = new.settings.strength.hash
        let request = ProfileRequest.changePassphrase(
            old: oldBytes, new: passphrase.withBytes { $0.array }, hint: new.settings.hint,
            passes: strength.passes, memory: strength.memory)
        _ = try Requests.perform(request, on: access)
        Output.error("The passphrase has been changed.")
    }
}
