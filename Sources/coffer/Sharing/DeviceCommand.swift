internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import FoundationEssentials
internal import Glibc

struct DeviceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Use your identity and your vaults on several devices.",
        discussion: """
            “authorize” waits on a device that you use already, and “coffer init --pair” makes the profile of the new \
            one. Both devices are then you: each has your identity, and the vaults that have a remote. Vaults without a \
            remote stay on the device that they are on.

            Examples:
              coffer device authorize
              coffer init --pair 192.168.1.20:41235 --device desktop
              coffer device list
              coffer device revoke laptop
            """,
        subcommands: [List.self, Authorize.self, Refresh.self, Revoke.self])

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List your devices.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            let report = try Requests.perform(DevicesRequest(), profile)
            if json { return try Output.json(report) }
            Output.table(
                ["NAME", "ID", "ADDED", ""],
                report.devices.map { device in
                    [
                        device.name + (device.isThis ? " (this one)" : ""), String(device.id.prefix(16)),
                        device.added.map(Output.day) ?? "", device.isTrusted ? "" : "revoked",
                    ]
                })
        }
    }

    struct Authorize: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Wait for another device of yours, and give it your identity and vaults.",
            discussion: """
                Prints the addresses at which this device waits. Run “coffer init --pair ADDRESS” on the new device. It \
                shows a code of eight digits, which you enter here: so you know that nobody is between the two devices. \
                Then it asks whether this device has accepted the code.

                A device that has a profile already, and lacks your newest keys, uses “coffer device refresh ADDRESS”.

                Examples:
                  coffer device authorize
                  coffer device authorize --listen 192.168.1.20:7000
                  coffer device authorize --listen /run/user/1000/pair
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(
            help: ArgumentHelp(
                "Where to wait: HOST:PORT, or the path of a socket (default: all addresses, any free port).",
                valueName: "address"))
        var listen = ":0"
        @Option(
            help: ArgumentHelp(
                "Read the code from the first line of a file, once it is asked for (“-” for standard input).",
                valueName: "file"), completion: .file())
        var codeFile: String?

        func run() throws {
            if codeFile == nil, isatty(STDIN_FILENO) == 0 {
                throw ValidationError("There is no terminal to enter the code at. Use --code-file.")
            }
            let place = try PairingAddress(listen).absolute
            let access = try Requests.open(profile)
            defer { access.close() }
            let dialogue = PairingDialogue(access, codeFile: codeFile, yes: false)
            let report = try access.perform(
                PairRequest.authorize(address: "\(place)"), progress: { dialogue.show($0) })
            let device = Output.visible(report.device)
            Output.error(
                report.isNew
                    ? "“\(device)” is now one of your devices."
                    : "“\(device)” has your newest keys now.")
        }
    }

    struct Refresh: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Fetch your newest keys and vaults from another device of yours.",
            discussion: """
                Necessary after “coffer device revoke” on the other device, which replaces your keys: until then this \
                device can write nothing to shared vaults. Run “coffer device authorize” on the other device first.

                Example:
                  coffer device refresh 192.168.1.20:41235
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(name: .shortAndLong, help: PairingDialogue.yesHelp)
        var yes = false
        @Argument(help: "The address that the other device prints.") var address: String

        func run() throws {
            let place = try PairingAddress(address).absolute
            try PairingDialogue.check(yes, place)
            let access = try Requests.open(profile)
            defer { access.close() }
            let dialogue = PairingDialogue(access, codeFile: nil, yes: yes)
            let report = try access.perform(
                PairRequest.refresh(address: "\(place)"), progress: { dialogue.show($0) })
            Output.error("This device has your newest keys.")
            for vault in report.vaults { Output.error("New here: “\(vault)”") }
        }
    }

    struct Revoke: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a device that is lost, and replace your keys.",
            discussion: """
                Replaces your identity and transient keys, and the keys of the vaults where your role may do that; \
                elsewhere the device of an owner or admin does it. It first syncs all vaults, for a minute at most. \
                What this device has received from the lost one when the vault's members record your \
                new keys counts, even if a thief wrote it. What the lost device writes or backdates later does not \
                count. It may have kept copies of everything that it could read. If you are an owner or admin, check \
                “coffer member list”: members that a thief has added stay until you remove them.

                Your other devices cannot write to shared vaults until they have the new keys: run “coffer device \
                authorize” here, and “coffer device refresh” there. Replace the passwords of your remotes, too, if the \
                lost device has them.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(name: .shortAndLong, help: "Do not ask for confirmation.") var yes = false
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The device, by its name or by the beginning of its id.") var device: String

        func run() throws {
            let access = try Requests.open(profile)
            defer { access.close() }
            if !yes {
                try Question.ask(
                    "“\(Output.visible(device))” will be able to read and write nothing new. This cannot be undone. Continue?",
                    yes)
            }
            let report = try Requests.perform(RevokeRequest(device: device), on: access, label: "Revoking")
            if json { return try Output.json(report) }
            Output.error("“\(report.device)” is revoked, and your identity keys are new.")
            for vault in report.vaults { Output.line(Output.visible("\(vault.name): \(Self.text(vault))")) }
            if !report.stale.isEmpty {
                Output.error(
                    "Fetch the new keys with “coffer device refresh” on: "
                        + report.stale.joined(separator: ", "))
            }
        }

        private static func text(_ vault: RevocationReport.Vault) -> String {
            switch vault.keys {
            case "rotated": "the vault's keys are new"
            case "owed": "the device of an owner or admin will change the vault's keys"
            default: "your new keys have not reached the remote yet: \(vault.failure ?? "see coffer status")"
            }
        }
    }
}

/// Shows how far a pairing is, and asks what it needs to know from the person.
final class PairingDialogue: Sendable {
    private let access: ProfileAccess
    private let codeFile: String?
    private let yes: Bool
    private let shown = Condition<PairingStep?>(nil)

    init(_ access: ProfileAccess, codeFile: String?, yes: Bool) {
        self.access = access
        self.codeFile = codeFile
        self.yes = yes
    }

    /// What “--yes” does.
    static let yesHelp: ArgumentHelp = """
        Do not ask whether the other device has accepted the code. Then this device takes whatever answers at the \
        address for your other device, so this is only possible with a socket on this machine.
        """

    /// Checks that somebody can answer, or that nobody on a network can be between the devices.
    static func check(_ yes: Bool, _ address: PairingAddress) throws {
        if yes, case .tcp = address {
            throw ValidationError(
                "--yes is only possible with the path of a socket: over a network, compare the codes.")
        }
        guard yes || isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("There is no terminal to ask for confirmation. Use --yes.")
        }
    }

    /// Shows a step once, and blocks until the person has answered its question.
    func show(_ progress: Progress) {
        guard let step = progress.pairing else { return }
        let isNew = shown.withLock { shown in
            defer { shown = step }
            return shown != step
        }
        guard isNew else { return }
        switch step {
        case .waiting(let addresses): Self.showAddresses(addresses)
        case .showCode(let code): Self.showCode(code)
        case .enterCode: enterCode()
        case .confirm(let name):
            answer(.isSame((try? Self.confirm(name, yes)) ?? false))
        case .connecting, .transferring: return
        }
    }

    private static func showAddresses(_ addresses: [String]) {
        Output.error(
            "Waiting for the other device. Run there: coffer init --pair ADDRESS, with this address:")
        for address in addresses { Output.line(address) }
    }

    /// Shows the code that the person enters on the other device.
    static func showCode(_ code: String) {
        Output.error("Enter this code on the other device:")
        Output.line(code)
    }

    /// Asks whether the other device has accepted the code.
    static func confirm(_ name: String, _ yes: Bool) throws -> Bool {
        if yes { return true }
        Output.ask(
            "You will be “\(name)” here. Does the other device say that the codes are the same? [y/N]")
        let answer = readLine()?.lowercased()
        return answer == "y" || answer == "yes"
    }

    private func enterCode() {
        if let codeFile {
            let text = codeFile == "-" ? readLine() : try? TextFile.read(codeFile)
            let line = text?.split(separator: "\n").first.map(String.init)
            if let line, answer(.code(line)) != nil { return }
        } else {
            Output.ask("Enter the code that the other device shows:")
            while let line = readLine() {
                if answer(.code(line)) != nil { return }
                Output.ask("That is not the code. Enter it again:")
            }
        }
        answer(.isSame(false))
    }

    /// Gives the answer to the pairing.
    ///
    /// - Returns: Whether it is right; nil if it may be given again. A failure ends the pairing by itself.
    @discardableResult
    private func answer(_ answer: PairingAnswer) -> Bool? {
        guard let report = try? access.perform(answer) else { return false }
        if report.isRight == true, case .code = answer {
            Output.error("The codes are the same. Confirm that on the other device.")
        }
        return report.isRight
    }
}
