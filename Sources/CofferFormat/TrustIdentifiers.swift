/// Tells identifiers of users from others.
package enum UserKind {}
/// Tells identifiers of chains from others.
package enum ChainIDKind {}
/// Tells identifiers of logs from others.
package enum LogKind {}
/// Tells identifiers of transient keys from others.
package enum TransientKeyKind {}
/// Tells identifiers of invites from others.
package enum InviteKind {}

/// Names the identity chain and the device chain of a person; random.
///
/// Others know the person by `IdentityID`, as anybody could take a random number that is another's.
package typealias UserID = Identifier<UserKind>
/// Names a trust chain: the user, or the vault.
package typealias ChainID = Identifier<ChainIDKind>
/// Names the commits of one device in one vault.
package typealias LogID = Identifier<LogKind>
/// Names a transient key.
package typealias TransientKeyID = Identifier<TransientKeyKind>
/// Names an invite; comes out of its secret.
package typealias InviteID = Identifier<InviteKind>

extension Identifier where Kind == ChainIDKind {
    /// The chains of a person.
    package init(_ user: UserID) {
        self.init(low: user.low, high: user.high)
    }

    /// The member chain of a vault.
    package init(_ vault: VaultID) {
        self.init(low: vault.low, high: vault.high)
    }
}
