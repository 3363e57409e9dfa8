internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import FoundationEssentials
internal import Glibc

struct MemberCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "member", abstract: "Manage who may use a vault, and in which role.",
        discussion: """
            Roles: an owner may do everything. An admin may add writers and readers, and remove everyone except owners. A \
            writer may read and write. A reader may read. Give a member by the name that “coffer member list” shows, or \
            by the beginning of the identity.

            Examples:
              coffer member invite Plans --role reader
              coffer member list Plans
              coffer member remove Plans Bob
            """,
        subcommands: [
            Invite.self, Withdraw.self, Add.self, List.self, SetRole.self, Remove.self, Cancel.self,
            Removed.self, Leave.self,
        ])

    /// The roles, as arguments.
    enum RoleArgument: String, ExpressibleByArgument, CaseIterable {
        case owner, admin, writer, reader
    }

    struct Invite: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print an invite: one line, secret until it is used.",
            discussion: """
                Send the invite to one person over a private channel. That person uses it once, with “coffer join”, and \
                becomes a member as soon as the mount of an owner or admin sees the request. You need not confirm.
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(help: "The role of the new member.") var role = RoleArgument.writer
        @Option(help: "How many hours the invite is valid.") var hours = 168
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func validate() throws {
            guard (1...8760).contains(hours) else {
                throw ValidationError("An invite lasts 1 to 8760 hours.")
            }
        }

        func run() throws {
            let request = InviteRequest.invite(
                vault: vault, role: role.rawValue, seconds: Int64(hours) * 3600)
            let invite = try Requests.perform(request, profile)
            guard Output.write(invite + "\n", to: STDOUT_FILENO) else {
                let reason = SystemError("write", code: errno, on: "standard output")
                Output.error(
                    "coffer: The invite was made, but could not be written: \(reason). Nobody has it. Find it with “coffer member list”, and withdraw it with “coffer member withdraw”."
                )
                throw ExitCode(74)
            }
        }
    }

    struct Withdraw: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Withdraw an unused invite.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The beginning of the invite's id, as “coffer member list” shows it.") var invite:
            String

        func run() throws {
            try Requests.perform(MemberRequest.withdrawInvite(vault: vault, id: invite), profile)
        }
    }

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a member by identity card.",
            discussion: """
                Verify the card with its owner first: coffer identity verify --card FILE. This command prints a line \
                that the new member passes to “coffer join”. The line is no secret.
                """)
        @OptionGroup var profile: ProfileOptions
        @Option(help: "The role of the new member.") var role = RoleArgument.writer
        @Option(
            help: ArgumentHelp("The card (“-” for standard input).", valueName: "file"), completion: .file())
        var with: String
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            let request = InviteRequest.addMember(
                vault: vault, card: try TextFile.read(with), role: role.rawValue)
            let invite = try Requests.perform(request, profile)
            Output.line(invite)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the members of a vault.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            let report = try Requests.perform(MembersRequest(vault: vault), profile)
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
                Output.line("\nThe device of an owner or admin will rotate the keys: \(reason)")
            }
            if let waiting = report.waiting { Output.line("\n\(Output.visible(waiting))") }
            if report.invites.isEmpty { return }
            Output.line("\nOpen invites")
            Output.table(
                ["ID", "ROLE", "UNTIL"],
                report.invites.map {
                    [Self.short($0.id, report.invites.map(\.id)), $0.role, Output.day($0.expires)]
                })
        }

        /// The shortest unambiguous beginning of an id, of at least 8 digits.
        private static func short(_ id: String, _ all: [String]) -> String {
            for count in stride(from: 8, to: id.count, by: 4) {
                let beginning = id.prefix(count)
                if all.count(where: { $0.hasPrefix(beginning) }) == 1 { return String(beginning) }
            }
            return id
        }

        /// Remarks on a member's name and keys.
        private static func remark(on member: MembersReport.Member) -> String {
            let name = member.claims.map { "now uses the name “\($0)”" }
            return [name, keyProblem(member)].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "; ")
        }

        /// The problem with a member's keys; empty if there is none.
        private static func keyProblem(_ member: MembersReport.Member) -> String {
            switch member.keys {
            case "expired": "not online since the key expired, \(Output.day(member.keysUntil ?? 0))"
            case "rolled": "has newer identity keys than the vault knows"
            case "revoked": "the identity is revoked"
            default: ""
            }
        }
    }

    struct SetRole: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "role", abstract: "Change the role of a member.")
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The member.", completion: Completions.members) var member: String
        @Argument(help: "The new role.") var role: RoleArgument

        func run() throws {
            try Requests.perform(
                MemberRequest.setRole(vault: vault, member: member, role: role.rawValue), profile)
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a member, and rotate the vault's keys.",
            discussion: """
                The removed member cannot read anything that is written from then on, but may have kept copies of \
                everything before. “coffer member removed” shows what that is.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(name: .shortAndLong, help: "Do not ask for confirmation.") var yes = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The member.", completion: Completions.members) var member: String

        func run() throws {
            let access = try Requests.open(profile)
            defer { access.close() }
            if !yes {
                let found = try MemberCommand.find(member, in: vault, access)
                try Question.ask(
                    "\(found) will not be able to read anything that is written to “\(vault)” from now on. Continue?",
                    yes
                )
            }
            let request = MemberRequest.remove(vault: vault, member: member)
            _ = try Requests.perform(request, on: access, label: vault)
        }
    }

    /// Finds a member before the user is asked for confirmation.
    ///
    /// - Returns: The member for use in a question: “Ann” (identity 1234567812345678).
    /// - Throws: If the vault has no such member, or several.
    private static func find(_ member: String, in vault: String, _ access: ProfileAccess) throws -> String {
        let request = IdentityRequest.verify(.member(vault: vault, member: member), words: nil)
        let report = try Requests.perform(request, on: access)
        return Output.visible("“\(report.name)” (identity \(report.identity.prefix(16)))")
    }

    struct Cancel: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancel a membership change that has not reached the remote.",
            discussion: """
                A change that “coffer member” could not write to the remote waits, and “coffer status” shows it. It is \
                carried out when the remote can be written again. If the remote does not answer now, the change may have \
                been made already, and then it stands.
                """)
        @OptionGroup var profile: ProfileOptions
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String
        @Argument(help: "The member that the change concerns.", completion: Completions.members)
        var member: String

        func run() throws {
            try Requests.perform(
                MemberRequest.cancelChange(vault: vault, member: member), profile, label: vault)
        }
    }

    struct Removed: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show who was removed, and what they can still read.")
        @OptionGroup var profile: ProfileOptions
        @Flag(help: "Print JSON.") var json = false
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            let reports = try Requests.perform(RemovalsRequest(vault: vault), profile)
            if json { return try Output.json(reports) }
            if reports.isEmpty { return Output.error("No member was removed from “\(vault)”.") }
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
            abstract: "Leave a shared vault.",
            discussion: """
                The next owner or admin who is online rotates the keys. The last owner has to name a successor. Your copy \
                on this device stays until “coffer vault delete”.
                """)
        @OptionGroup var profile: ProfileOptions
        @Flag(name: .shortAndLong, help: "Do not ask for confirmation.") var yes = false
        @Option(
            help: ArgumentHelp("The member who becomes owner.", valueName: "member"),
            completion: Completions.members)
        var successor: String?
        @Argument(help: "The vault.", completion: Completions.vaults) var vault: String

        func run() throws {
            let access = try Requests.open(profile)
            defer { access.close() }
            if !yes {
                // Errors come before the question.
                let heir = try successor.map { try MemberCommand.find($0, in: vault, access) }
                _ = try Requests.perform(MembersRequest(vault: vault), on: access)
                let owner = heir.map { " \($0) becomes an owner." } ?? ""
                try Question.ask("You will no longer be a member of “\(vault)”.\(owner) Continue?", yes)
            }
            _ = try Requests.perform(MemberRequest.leave(vault: vault, successor: successor), on: access)
        }
    }
}

/// Asks questions that are answered by yes or no.
enum Question {
    /// Asks a question unless `yes`; any answer other than yes ends the command with exit code 1.
    static func ask(_ question: String, _ yes: Bool) throws {
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("There is no terminal to ask for confirmation. Use --yes.")
        }
        Output.ask("\(question) [y/N]")
        guard let answer = readLine()?.lowercased(), answer == "y" || answer == "yes" else {
            Output.error("Nothing was done.")
            throw ExitCode(1)
        }
    }
}
