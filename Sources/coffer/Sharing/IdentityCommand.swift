internal import ArgumentParser
internal import CofferClient

struct IdentityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity", abstract: "Show your identity, and verify the identities of others.",
        subcommands: [Show.self, Verify.self, Roll.self])

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the words of your identity, or its card to hand to others.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print the identity card only.") var card = false
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            let report = try Requests.perform(IdentityRequest.show, profile)
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
            abstract: "Replace your transient key now, rather than within a month.",
            discussion: """
                Others wrap vault keys for the new key as soon as you have synced. The old key is kept, encrypted, for a \
                month, because others may still use it. After that it is deleted, and nobody who gets hold of this device \
                can open what was wrapped for it. Your identity and its words stay the same.
                """)
        @OptionGroup var profile: ProfileOptions

        func run() throws {
            try Requests.perform(IdentityRequest.roll, profile)
            Output.error("You have a new transient key. Others have it after the next sync.")
        }
    }

    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare the words of an identity with what that person says.",
            discussion: """
                Call the person, have them read out what “coffer identity show” prints on their device, and compare. With \
                --words, this command compares, and remembers that the words are the same.

                Examples:
                  coffer identity verify Plans Bob
                  coffer identity verify Plans Bob --words "…"
                  coffer identity verify --card bob.card
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(help: ArgumentHelp("The words that the person said.", valueName: "words")) var words: String?
        @Option(
            help: ArgumentHelp(
                "Verify an identity card instead of a member (“-” for standard input).", valueName: "file"),
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
                throw ValidationError("Give VAULT and MEMBER, or --card FILE.")
            }
            let report = try Requests.perform(IdentityRequest.verify(target, words: words), profile)
            if json { return try Output.json(report) }
            Output.line(Output.visible(report.name))
            Output.line(report.fingerprint)
            if words != nil { Output.error("The words match.") }
        }
    }
}
