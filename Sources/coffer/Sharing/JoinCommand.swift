internal import ArgumentParser
internal import CofferClient

struct JoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Become a member of a vault with an invite.",
        discussion: """
            Leaves a request at the vault's remote, and waits until the mount of an owner or admin has answered it. In a \
            folder that is being replicated, it also waits for files that have not arrived yet. If you do not wait, your \
            mount goes on asking, and “coffer status” shows the request. If the invite is withdrawn, join exits with 77.

            The invite is a secret. “-” reads it from standard input, so that it does not appear in the list of processes.

            Examples:
              coffer join coffer-invite-1:…
              coffer join --as Plans --remote /media/nas/coffer - < invite
            """)

    @OptionGroup var profile: ProfileOptions

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The vault's name on this device (default: the inviter's name for it, with a number if that is taken).",
            valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The vault's remote as this device reaches it, for example if the folder is mounted at another path here.",
            valueName: "path or url"),
        completion: .directory)
    var remote: RemoteArgument?

    @Flag(help: "Do not wait for the answer.")
    var noWait = false

    @Flag(
        help:
            "Cancel an unanswered request: give the invite, or the vault's name as “coffer status” shows it.")
    var cancel = false

    @Argument(help: ArgumentHelp("The invite, or “-”.", valueName: "invite"))
    var invite: String

    func run() throws {
        let text = invite == "-" ? try TextFile.read("-") : invite
        if cancel {
            try Requests.perform(MemberRequest.cancelJoin(text), profile)
            return
        }
        let request = JoinRequest(
            invite: text, name: name, remote: remote?.url, waits: !noWait)
        let report = try Requests.perform(request, profile, label: "Joining")
        if report.isMember {
            let role = ("ao".contains(report.role.prefix(1)) ? "an " : "a ") + report.role
            Output.error("You are now \(role) of the vault. Its name on this device is “\(report.vault)”.")
        } else {
            Output.error(
                "The request is at the remote. Once it is answered, the vault appears here as “\(report.vault)”."
            )
        }
    }
}
