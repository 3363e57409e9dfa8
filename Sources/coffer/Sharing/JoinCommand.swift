internal import ArgumentParser
internal import CofferClient

struct JoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Become a member of a vault by an invite.",
        discussion: """
            Leaves a request at the vault's remote, and waits until an owner's or admin's mount has seen it. If you do \
            not wait, your mount goes on asking, and “coffer status” shows it. If the invite is withdrawn, this ends with \
            77. The vault gets the name that who invites has for it, or “Shared”; if that is taken here, with a number. \
            The invite is a secret: give “-” and it is read from standard input, so that it is in no list of processes.
            """)

    @OptionGroup var profile: ProfileOptions

    @Option(name: .customLong("as"), help: ArgumentHelp("What to call the vault here.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Your own way to the vault's remote, as where a folder is mounted elsewhere here than the invite says.",
            valueName: "path or url"),
        completion: .directory)
    var remote: RemoteArgument?

    @Flag(help: "Do not wait for the answer.")
    var noWait = false

    @Flag(
        help: "Give up a request that has no answer: say the vault's name in “coffer status”, or the invite.")
    var cancel = false

    @Argument(help: ArgumentHelp("The invite, or “-”.", valueName: "invite"))
    var invite: String

    func run() throws {
        let text = invite == "-" ? try TextFile.read("-") : invite
        if cancel {
            try Requests.perform(.cancelJoin(text), profile)
            return
        }
        let request = ControlRequest.join(
            invite: text, name: name, remote: remote?.url, waits: !noWait)
        guard case .joined(let report) = try Requests.perform(request, profile, label: "Joining") else {
            throw ProfileError.otherAnswer
        }
        if report.isMember {
            let role = ("ao".contains(report.role.prefix(1)) ? "an " : "a ") + report.role
            Output.error("You are \(role) of the vault, which is “\(report.vault)” here.")
        } else {
            Output.error(
                "The request is at the remote. As soon as it is seen, the vault is “\(report.vault)” here.")
        }
    }
}
