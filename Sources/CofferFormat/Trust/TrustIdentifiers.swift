/// Distinguishes identifiers of users from others.
package enum UserKind {}
/// Distinguishes identifiers of chains from others.
package enum ChainIDKind {}
/// Distinguishes identifiers of logs from others.
package enum LogKind {}
/// Distinguishes identifiers of transient keys from others.
package enum TransientKeyKind {}
/// Distinguishes identifiers of invites from others.
package enum InviteKind {}
/// Distinguishes identifiers of recovery keys from others.
package enum RecoveryKeyKind {}

/// Identifies the identity chain and the device chain of a person; random.
///
/// Others know the person by `IdentityID`, since anybody could choose the random number of another person.
package typealias UserID = Identifier<UserKind>
/// Identifies a trust chain: a user id, or a vault id.
package typealias ChainID = Identifier<ChainIDKind>
/// Identifies the log of one device in one vault.
package typealias LogID = Identifier<LogKind>
/// Identifies a transient key.
package typealias TransientKeyID = Identifier<TransientKeyKind>
/// Identifies an invite; derived from its secret.
package typealias InviteID = Identifier<InviteKind>
/// Identifies a recovery key among those of one profile; derived from the key.
package typealias RecoveryKeyID = Identifier<RecoveryKeyKind>

extension Identifier where Kind == ChainIDKind {
    /// The id of a person's chains.
    package init(_ user: UserID) {
        self.init(low: user.low, high: user.high)
    }

    /// The id of a vault's member chain.
    package init(_ vault: VaultID) {
        self.init(low: vault.low, high: vault.high)
    }
}
