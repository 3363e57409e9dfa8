internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import FoundationEssentials
internal import Glibc

struct MemberCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "member", abstract: "Say who may use a vault, and as what.",
        discussion: """
            Roles: an owner may do everything; an admin may change who is a member, but makes no admins; a writer may \
            read and write; a reader may read. A member is named by the name that “coffer member list” shows, or by \
            the beginning of the identity.
            """,
        subcommands: [
            Invite.self, Withdraw.self, Add.self, List.self, SetRole.self, Remove.self, Cancel.self,
            Removed.self, Leave.self,
        ])

    /// The roles, as they are written.
    enum RoleArgument: String, ExpressibleByArgument, CaseIterable {
        case owner, admin, writer, reader
    }

    struct Invite: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print an invite: one line, which is a secret until it is used.",
            discussion: """
                Give it to one person, by a way that others cannot read. Who has it uses it once, with “coffer join”, \
                and becomes a member as soon as a mount of an owner or admin sees the request: nothing else is to be \
                done.
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(help: "What the invited become.") var role = RoleArgument.writer
        @Option(help: "For how many hours the invite can be used.") var hours = 168
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func validate() throws {
            guard (1...8760).contains(hours) else {
                throw ValidationError("An invite lasts 1 to 8760 hours.")
            }
        }

        func run() throws {
            let request = ControlRequest.invite(
                vault: vault, role: role.rawValue, seconds: Int64(hours) * 3600)
            guard case .text(let invite) = try Requests.perform(request, profile) else {
                throw ProfileError.otherAnswer
            }
            guard Output.write(invite + "\n", to: STDOUT_FILENO) else {
                let reason = SystemError("write", code: errno, on: "standard output")
                Output.error(
                    "coffer: The invite is made, but it could not be written: \(reason). Nobody has it. Withdraw it: coffer member list, coffer member withdraw"
                )
                throw ExitCode(74)
            }
        }
    }

    struct Withdraw: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Withdraw an invite that nobody has used.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The beginning of the invite's id, as “coffer member list” shows it.") var invite:
            String

        func run() throws {
            try Requests.perform(.withdrawInvite(vault: vault, id: invite), profile)
        }
    }

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add somebody by an identity card.",
            discussion: """
                Compare the words of the card with its owner first: coffer identity verify --card FILE. They need the \
                vault's id and its remote then: “coffer join” with the line that this prints.
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(help: "What they become.") var role = RoleArgument.writer
        @Option(help: ArgumentHelp("The card (“-”: standard input).", valueName: "file"), completion: .file())
        var with: String
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            let request = ControlRequest.addMember(
                vault: vault, card: try TextFile.read(with), role: role.rawValue)
            guard case .text(let invite) = try Requests.perform(request, profile) else {
                throw ProfileError.otherAnswer
            }
            Output.line(invite)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the members of a vault.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            guard case .members(let report) = try Requests.perform(.members(vault: vault), profile) else {
                throw ProfileError.otherAnswer
            }
            if json { return try Output.json(report) }
            Output.table(
                ["NAME", "ROLE", "SINCE", "IDENTITY", "VERIFIED", ""],
                report.members.map { member in
                    [
                        member.name + (member.isThis ? " (you)" : ""), member.role, Output.day(member.since),
                        String(member.identity.prefix(16)),
                        member.isThis ? "" : member.isVerified ? "yes" : "no", Self.remark(on: member),
                    ]
                })
            if let reason = report.rotationOwed {
                Output.line("\nAn owner's or admin's device will change the keys: \(reason)")
            }
            if report.invites.isEmpty { return }
            Output.line("\nInvites that nobody has used")
            Output.table(
                ["ID", "ROLE", "UNTIL"],
                report.invites.map {
                    [Self.short($0.id, report.invites.map(\.id)), $0.role, Output.day($0.expires)]
                })
        }

        /// As much of an id as tells it from the others, and no less than a person would take for one.
        private static func short(_ id: String, _ all: [String]) -> String {
            for count in stride(from: 8, to: id.count, by: 4) {
                let beginning = id.prefix(count)
                if all.count(where: { $0.hasPrefix(beginning) }) == 1 { return String(beginning) }
            }
            return id
        }

        /// What there is to know of a member.
        private static func remark(on member: MembersReport.Member) -> String {
            let name = member.claims.map { "now says to be “\($0)”" }
            return [name, keyProblem(member)].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "; ")
        }

        /// What is not well with the keys of a member; nothing if all is.
        private static func keyProblem(_ member: MembersReport.Member) -> String {
            switch member.keys {
            case "expired": "not online since its key ended, \(Output.day(member.keysUntil ?? 0))"
            case "rolled": "has newer identity keys than the vault knows"
            case "revoked": "its identity is revoked"
            default: ""
            }
        }
    }

    struct SetRole: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "role", abstract: "Give a member another role.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The member.", completion: Completions.members) var member: String
        @Argument(help: "The new role.") var role: RoleArgument

        func run() throws {
            try Requests.perform(.setRole(vault: vault, member: member, role: role.rawValue), profile)
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a member, and rotate the vault's keys.",
            discussion: """
                What is written from then on, the removed member cannot read. What they could read before, they may \
                have kept; “coffer member removed” says what that is.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The member.", completion: Completions.members) var member: String

        func run() throws {
            try Question.ask(
                "“\(member)” will not be able to read what is written to “\(vault)” from now on. Go on?", yes)
            try Requests.perform(.removeMember(vault: vault, member: member), profile, label: vault)
        }
    }

    struct Cancel: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Withdraw a change of a member that the remote could not take yet.",
            discussion: """
                What “coffer member” could not bring to the remote is kept, and done once the remote takes it; “coffer \
                status” shows it. While the remote cannot be asked whether it has taken the change all the same, the \
                change may still happen.
                """)
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.") var vault: String
        @Argument(help: "The member that the change concerns.") var member: String

        func run() throws {
            try Requests.perform(.cancelMemberChange(vault: vault, member: member), profile, label: vault)
        }
    }

    struct Removed: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say who was removed, and what they can still read.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            guard case .removals(let reports) = try Requests.perform(.removals(vault: vault), profile) else {
                throw ProfileError.otherAnswer
            }
            if json { return try Output.json(reports) }
            if reports.isEmpty { return Output.error("Nobody was removed from “\(vault)”.") }
            for (index, report) in reports.enumerated() {
                if index > 0 { Output.line("") }
                Self.show(report)
            }
        }

        private static func show(_ report: RemovalReport) {
            Output.line("Removed   \(Output.visible(report.name)) (\(report.identity.prefix(16)))")
            Output.line("By        \(Output.visible(report.removedBy)), \(Output.day(report.time))")
            Output.line("Epoch     had the keys up to \(report.lastEpoch)")
            for revision in report.readable {
                Output.line("Can read  \(Output.visible(revision.device)), up to commit \(revision.commit)")
            }
            for revision in report.accepted {
                Output.line("Counts    \(Output.visible(revision.device)), up to commit \(revision.commit)")
            }
            let all = report.newBytes + report.oldBytes
            let share = all == 0 ? 100 : Int(report.newBytes * 100 / all)
            Output.line(
                "Content   \(share) % under newer keys (\(Output.bytes(report.newBytes)) of \(Output.bytes(all)))"
            )
        }
    }

    struct Leave: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Leave a vault that others have, too.",
            discussion: """
                The keys are rotated by the next owner or admin who is online. The last owner names a successor. What \
                is on this device stays, until “coffer vault delete”.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
        @Option(
            help: ArgumentHelp("Who becomes owner.", valueName: "member"), completion: Completions.members)
        var successor: String?
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            try Question.ask("You will not be a member of “\(vault)” any more. Go on?", yes)
            try Requests.perform(.leave(vault: vault, successor: successor), profile)
        }
    }
}

/// Questions that are answered by yes or no.
enum Question {
    /// Asks, unless the answer was given.
    static func ask(_ question: String, _ yes: Bool) throws {
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else { throw ValidationError("Nobody can be asked; say --yes.") }
        Output.error("\(question) [y/N]")
        guard let answer = readLine()?.lowercased(), answer == "y" || answer == "yes" else {
            Output.error("Nothing was done.")
            throw ExitCode(1)
        }
    }
}
