internal import ArgumentParser
internal import CofferClient

struct IdentityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Show your identity, and compare those of others.",
        subcommands: [Show.self, Verify.self, Roll.self])

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print your identity's words; with --card, the card to hand to others.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print the identity card, alone.") var card = false
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            guard case .identity(let report) = try Requests.perform(.identity, profile) else {
                throw ProfileError.otherAnswer
            }
            if json { return try Output.json(report) }
            if card {
                let text = report.card ?? ""
                return Output.line(text.hasSuffix("\n") ? String(text.dropLast()) : text)
            }
            Output.line(Output.visible(report.name))
            Output.line(report.fingerprint)
        }
    }

    struct Roll: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new transient key now, rather than in a month.",
            discussion: """
                Others wrap the keys of vaults for it as soon as you have synced. The old one is kept, sealed, for a month, \
                as others may still use it; then it goes, and what was wrapped for it can be opened by nobody who gets \
                hold of this device. The identity and its words stay the same.
                """)
        @OptionGroup var profile: ProfileOptions

        func run() throws {
            try Requests.perform(.rollIdentity, profile)
            Output.error("You have a new transient key. Others have it after the next sync.")
        }
    }

    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare the words of an identity with what its owner says.",
            discussion: """
                Call the person, let them read out what “coffer identity show” prints there, and compare. With \
                --words the comparison is made here; if it holds, that is remembered.
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(help: ArgumentHelp("What the person said.", valueName: "words")) var words: String?
        @Option(
            help: ArgumentHelp("An identity card (“-”: standard input) instead.", valueName: "file"),
            completion: .file())
        var card: String?
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String?
        @Argument(help: "The member.", completion: Completions.members) var member: String?

        func run() throws {
            let target: IdentityTarget
            if let card {
                target = .card(try TextFile.read(card))
            } else if let vault, let member {
                target = .member(vault: vault, member: member)
            } else {
                throw ValidationError("Say whose identity: VAULT MEMBER, or --card FILE.")
            }
            let response = try Requests.perform(.verify(target, words: words), profile)
            guard case .identity(let report) = response else { throw ProfileError.otherAnswer }
            if json { return try Output.json(report) }
            Output.line(Output.visible(report.name))
            Output.line(report.fingerprint)
            if words != nil { Output.error("The words are the same.") }
        }
    }
}
