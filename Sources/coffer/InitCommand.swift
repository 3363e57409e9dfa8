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

            With --pair, this device becomes a further one of a person who has a profile already: it receives the \
            person's identity, and the vaults that have a remote, from a device on which “coffer device authorize” \
            waits. It shows a code, which you enter there. The code is on standard output.

            Examples:
              coffer init --name Ann --device laptop
              coffer init --pair 192.168.1.20:41235 --device desktop
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

    @Option(help: ArgumentHelp("The name of the first vault (default: Personal).", valueName: "name"))
    var vault: String?

    @Option(
        help: ArgumentHelp(
            "Become a further device of the person whose device waits at this address.",
            valueName: "address"))
    var pair: String?

    @Flag(
        name: .shortAndLong,
        help: PairingDialogue.yesHelp)
    var yes = false

    @OptionGroup var settings: PassphraseSettings

    func validate() throws {
        if pair != nil, name != nil || vault != nil {
            throw ValidationError("With --pair, your name and your vaults come from the other device.")
        }
        if pair == nil, yes { throw ValidationError("--yes is for --pair.") }
    }

    func run() throws {
        let location = try profile.location()
        if location.exists {
            throw ClientError.profile(.profileExists(path: location.path, home: profile.home.home))
        }
        if let pair { return try run(location, pairingWith: pair) }
        let person = name ?? Self.loginName
        let settings = Profile.Settings(
            name: person, device: Self.label(of: device, ownedBy: person), hint: settings.hint,
            strength: settings.strength.hash, firstVault: vault ?? Self.firstVault)
        try settings.check()
        Output.error(
            "The passphrase opens everything in the profile. Nobody can recover it: keep it in a place where you will find it. A recovery key opens the profile without it; make one with “coffer recovery create”."
        )
        let passphrase = try Passphrase(options: profile).askForNew()
        try Profile.create(at: location, passphrase: passphrase, settings)
        Output.error("Created a profile in \(location.path), with the vault “\(settings.firstVault)”.")
        showNext()
    }

    private static let firstVault = "Personal"

    /// Creates the profile of a further device.
    private func run(_ location: ProfileLocation, pairingWith text: String) throws {
        let address = try PairingAddress(text)
        let machine = device ?? Self.hostName ?? "this device"
        let settings = Profile.Settings(
            name: "me", device: machine, hint: settings.hint, strength: settings.strength.hash,
            firstVault: Self.firstVault)
        try settings.check()
        try PairingDialogue.check(yes, address)
        let passphrase = try Passphrase(options: profile).askForNew()
        let dialogue = PairedProfile.Dialogue(show: PairingDialogue.showCode) { name throws(ClientError) in
            (try? PairingDialogue.confirm(name, yes)) ?? false
        }
        let report = try PairedProfile.create(
            at: location, pairingWith: address, machine: machine, passphrase: passphrase, settings, dialogue)
        Output.error("Created a profile in \(location.path) for “\(report.name)”.")
        for vault in report.vaults { Output.error("Vault: “\(vault)”") }
        for problem in report.problems { Output.error("coffer: \(problem)") }
        showNext()
    }

    private func showNext() {
        let home = profile.home.home.map { "--home \(ShellWord.quoted($0)) " } ?? ""
        Output.error("Show it as a folder with: coffer mount \(home)~/Coffer")
    }

    /// The label of this device for other members; `device` is the name that the user chose, if any.
    static func label(of device: String?, ownedBy person: String) -> String {
        guard let machine = device ?? hostName else { return "this device" }
        return DeviceLabel.of(machine, ownedBy: person)
    }

    /// The name of the user who runs this program.
    private static var loginName: String {
        let variables = ["USER", "LOGNAME"].compactMap(Environment.value)
        return variables.first { !$0.isEmpty } ?? UserName.current
    }

    private static var hostName: String? {
        guard let bytes = try? WholeFile.read("/proc/sys/kernel/hostname", limit: 256) else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
