internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Make a profile: your identity, this device, and a first vault.",
        discussion: "The passphrase cannot be recovered: without it, nothing in the profile can be read.")

    @OptionGroup var profile: ProfileOptions

    @Option(help: ArgumentHelp("Your name, as others will see it (default: your login).", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "This machine's name, which conflict copies show (default: your name and the host's, as Ann's laptop).",
            valueName: "name"))
    var device: String?

    @Option(help: ArgumentHelp("The name of the first vault.", valueName: "name"))
    var vault = "Personal"

    @Option(
        help:
            "A hint that is shown after three wrong passphrases. It is hidden, but not protected: do not give the passphrase away."
    )
    var hint: String?

    @Option(help: "What trying a passphrase costs: interactive 64 MiB, moderate 256 MiB, sensitive 1 GiB.")
    var strength = Strength.moderate

    func run() throws {
        let location = try profile.location()
        if location.exists { throw ProfileError.profileExists(path: location.path) }
        Output.error(
            "The passphrase opens everything in the profile. Nobody can recover it: keep it where you will find it."
        )
        let passphrase = try Passphrase(options: profile).askForNew()
        let person = name ?? Environment.value("USER") ?? "me"
        let settings = Profile.Settings(
            name: person, device: device ?? Self.deviceName(of: person), hint: hint,
            strength: strength.hash, firstVault: vault)
        try Profile.create(at: location, passphrase: passphrase, settings)
        Output.error("A profile is in \(location.path), with the vault “\(vault)”.")
        let home = profile.home.home.map { "--home \(Output.quoted($0)) " } ?? ""
        Output.error("Show it as a folder with: coffer mount \(home)~/Coffer")
    }

    /// What a machine is called unless somebody says: whose it is tells others more than what it is called.
    private static func deviceName(of person: String) -> String {
        let hostName = hostName
        guard hostName != unknownHost else { return hostName }
        let name = "\(person)'s \(hostName)"
        return name.utf8.count <= 255 ? name : hostName
    }

    private static let unknownHost = "this device"

    private static var hostName: String {
        guard let bytes = try? WholeFile.read("/proc/sys/kernel/hostname", limit: 256) else {
            return unknownHost
        }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
