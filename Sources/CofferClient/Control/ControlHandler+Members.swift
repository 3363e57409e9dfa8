internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferTrust

// Requests about members.
extension ControlHandler {
    func answerOnMembers(
        _ request: ControlRequest, isHeard: @escaping @Sendable () -> Bool,
        progress: @escaping @Sendable (Progress) -> Void
    ) throws(ClientError) -> ControlResponse {
        switch request {
        case .invite(let name, let role, let seconds):
            return .text(try shared.named(name).invite(try Self.role(role), seconds: seconds))
        case .withdrawInvite(let name, let id): try shared.named(name).withdrawInvite(id)
        case .addMember(let name, let card, let role):
            return .text(try shared.named(name).add(card: card, as: try Self.role(role)))
        case .members(let name): return .members(try shared.named(name).membersReport())
        case .setRole(let name, let member, let role):
            try shared.named(name).setRole(of: member, to: try Self.role(role))
        case .removeMember(let name, let member): try shared.named(name).remove(member)
        case .cancelMemberChange(let name, let member): try shared.named(name).cancelChange(of: member)
        case .removals(let name): return .removals(try shared.named(name).removalReports())
        case .leave(let name, let successor): try shared.named(name).leave(successor: successor)
        case .join(let invite, let name, let remote, let waits):
            return .joined(
                try shared.join(invite, as: name, at: remote, waits: waits, isHeard: isHeard, progress))
        case .cancelJoin(let text): try shared.cancelJoin(text)
        default: throw .control(.otherAnswer)
        }
        return .done
    }

    private static func role(_ text: String) throws(ClientError) -> Role {
        guard let role = Role.allCases.first(where: { "\($0)" == text }) else {
            throw .member(.noSuchRole(text))
        }
        return role
    }
}
