internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Create a profile: your identity, this device, and a first vault.",
        discussion: """
            Without the passphrase, nothing in the profile can be read, unless you have made a recovery key with \
            “coffer recovery create”.

            Example:
              coffer init --name Ann --device laptop
            """)

    @OptionGroup var profile: ProfileOptions

    @Option(
        help: ArgumentHelp("Your name, as others will see it (default: your login name).", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            """
            This machine's name (default: its host name). Others see it together with your name, for example in the \
            names of conflict copies: “--name Ann --device laptop” becomes “Ann's laptop”. Give each of your machines a \
            different name.
            """,
            valueName: "name"))
    var device: String?

    @Option(help: ArgumentHelp("The name of the first vault.", valueName: "name"))
    var vault = "Personal"

    @Option(
        help:
            "A hint to show after three wrong passphrases. Anyone who has the profile can read it: do not give the passphrase away."
    )
    var hint: String?

    @Option(
        help:
            "The memory that each attempt at the passphrase takes: interactive 64 MiB, moderate 256 MiB, sensitive 1 GiB."
    )
    var strength = Strength.moderate

    func run() throws {
        let location = try profile.location()
        if location.exists { throw ClientError.profile(.profileExists(path: location.path)) }
        let person = name ?? Environment.value("USER") ?? "me"
        let settings = Profile.Settings(
            name: person, device: Self.label(of: device, ownedBy: person), hint: hint,
            strength: strength.hash, firstVault: vault)
        try settings.check()
        Output.error(
            "The passphrase opens everything in the profile. Nobody can recover it, unless you make a recovery key with “coffer recovery create”: keep it in a place where you will find it."
        )
        let passphrase = try Passphrase(options: profile).askForNew()
        try Profile.create(at: location, passphrase: passphrase, settings)
        Output.error("Created a profile in \(location.path), with the vault “\(vault)”.")
        let home = profile.home.home.map { "--home \(Output.quoted($0)) " } ?? ""
        Output.error("Show it as a folder with: coffer mount \(home)~/Coffer")
    }

    /// The label of this device for other members; `device` is the name that the user chose, if any.
    static func label(of device: String?, ownedBy person: String) -> String {
        guard let machine = device ?? hostName else { return "this device" }
        return DeviceLabel.of(machine, ownedBy: person)
    }

    private static var hostName: String? {
        guard let bytes = try? WholeFile.read("/proc/sys/kernel/hostname", limit: 256) else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
