internal import CofferFormat

/// Lists the members and open invites of a vault.
package struct MembersRequest: ControlRequest {
    let vault: String

    /// Asks about one vault.
    package init(vault: String) {
        self.vault = vault
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .members(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> MembersReport {
        try handler.shared.named(vault).membersReport()
    }
}

/// Lists the removed members of a vault, and what they can still read.
package struct RemovalsRequest: ControlRequest {
    let vault: String

    /// Asks about one vault.
    package init(vault: String) {
        self.vault = vault
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .removals(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> [RemovalReport] {
        try handler.shared.named(vault).removalReports()
    }
}

/// A request that changes the members of a vault, or withdraws an invite or a request to join.
package enum MemberRequest: ControlRequest {
    case setRole(vault: String, member: String, role: String)
    case remove(vault: String, member: String)
    /// Cancels a change of a member that waits for the remote.
    case cancelChange(vault: String, member: String)
    case leave(vault: String, successor: String?)
    case withdrawInvite(vault: String, id: String)
    /// Gives up a pending join, given by the name that the vault was to have, or by the invite.
    case cancelJoin(String)

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .member(self) }

    package func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Done {
        let shared = handler.shared
        switch self {
        case .setRole(let vault, let member, let role):
            try shared.named(vault).setRole(of: member, to: try Role(argument: role))
        case .remove(let vault, let member): try shared.named(vault).remove(member)
        case .cancelChange(let vault, let member): try shared.named(vault).cancelChange(of: member)
        case .leave(let vault, let successor): try shared.named(vault).leave(successor: successor)
        case .withdrawInvite(let vault, let id): try shared.named(vault).withdrawInvite(id)
        case .cancelJoin(let text): try shared.cancelJoin(text)
        }
        return Done()
    }
}

/// Asks for a line that lets a person join a vault.
package enum InviteRequest: ControlRequest {
    /// Makes an invite, which is secret and lasts for some seconds.
    case invite(vault: String, role: String, seconds: Int64)
    /// Adds the person of an identity card, given as text; the line is not secret.
    case addMember(vault: String, card: String, role: String)

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .invite(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> String {
        switch self {
        case .invite(let vault, let role, let seconds):
            try handler.shared.named(vault).invite(try Role(argument: role), seconds: seconds)
        case .addMember(let vault, let card, let role):
            try handler.shared.named(vault).add(card: card, as: try Role(argument: role))
        }
    }
}

/// Asks to join a vault by an invite.
package struct JoinRequest: ControlRequest {
    let invite: String
    let name: String?
    let remote: String?
    let waits: Bool

    /// - Parameters:
    ///   - invite: The invite, which is a secret.
    ///   - name: The name that the vault is to have here; nil for the inviter's name for it.
    ///   - remote: Another URL by which this person reaches the remote; nil for the one in the invite.
    ///   - waits: Whether to wait for the answer while the client is connected.
    package init(invite: String, name: String?, remote: String? = nil, waits: Bool) {
        self.invite = invite
        self.name = name
        self.remote = remote
        self.waits = waits
    }

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .join(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> JoinReport {
        try handler.shared.join(
            invite, as: name, at: remote, waits: waits, isHeard: client.isHeard, client.progress)
    }
}

extension Role {
    /// The role that a command names.
    fileprivate init(argument text: String) throws(ClientError) {
        guard let role = Role.allCases.first(where: { "\($0)" == text }) else {
            throw .member(.noSuchRole(text))
        }
        self = role
    }
}
