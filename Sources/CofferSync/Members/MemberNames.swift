package import CofferFormat
internal import CofferTrust

/// The names of members, from their commits or their cards.
struct MemberNames: Sendable {
    /// This user, and its name.
    let own: (identity: IdentityID, name: String)
    let logs: [LogID: LogSummary]
    let members: KnownMembers
    let cards: [UserID: KeptCard]

    /// An identity's name; nil if this device has seen neither a commit nor a card of it.
    func known(_ identity: IdentityID) -> String? {
        if identity == own.identity { return own.name }
        let log = logs.values.filter { $0.author == identity }.min { $0.log < $1.log }
        return log?.introduction.name ?? members.user(of: identity).flatMap { cards[$0]?.name }
    }

    /// An identity's name, or otherwise the first words of its fingerprint.
    func name(of identity: IdentityID) -> String {
        known(identity)
            ?? "identity " + Fingerprint(of: identity).words.prefix(3).joined(separator: " ")
    }
}

extension PendingChange {
    /// Describes the change that a link would make.
    init(_ pending: PendingLink, by own: IdentityID, _ names: MemberNames) {
        let operation = MemberOperation(ofLink: pending.link)
        let identity: IdentityID? =
            switch operation {
            case .createVault(let identity, _, _, _), .addMember(let identity, _, _, _, _),
                .changeRole(let identity, _, _), .removeMember(let identity, _, _),
                .memberKeysRolled(let identity, _, _):
                identity
            case .leave: own
            case .rotateKey, .restoreFromBackup, .keepHistory, nil: nil
            }
        let name = identity.map(names.name(of:)) ?? ""
        let text =
            switch operation {
            case .createVault: "sharing the vault"
            case .addMember: "adding \(name)"
            case .changeRole(_, let role, _): "making \(name) \(role)"
            case .removeMember: "removing \(name)"
            case .memberKeysRolled: "recording the new keys of \(name)"
            case .leave: "leaving the vault"
            case .rotateKey: "changing the vault's key"
            case .restoreFromBackup: "announcing a restore"
            case .keepHistory: "setting how long the past is kept"
            case nil: "a change of the members"
            }
        self.init(identity: identity, name: identity.flatMap(names.known), text: text)
    }
}

/// A change of the members that has begun and is not at the remote yet.
package struct PendingChange: Equatable, Sendable {
    /// The identity that it concerns; nil for a change of the key alone.
    package let identity: IdentityID?
    /// The identity's name, if known.
    package let name: String?
    /// A description for the user.
    package let text: String

    /// What names the change for “coffer member cancel”: the name, or the beginning of the identity's id; any
    /// word for a change of the key alone.
    package var argument: String {
        name ?? identity.map { String($0.description.prefix(16)) } ?? "key"
    }
}
