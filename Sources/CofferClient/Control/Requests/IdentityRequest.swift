/// A request that concerns the identity of this person or of another.
package enum IdentityRequest: ControlRequest {
    /// Returns this person's identity.
    case show
    /// Makes a new transient key now.
    case roll
    /// Returns the words of a member's identity or of a card; if words are given, compares them and stores a
    /// match.
    case verify(IdentityTarget, words: String?)

    package var changesVaults: Bool {
        switch self {
        case .show, .verify: false
        case .roll: true
        }
    }

    package var message: RequestMessage { .identity(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> IdentityReport {
        switch self {
        case .show: return try handler.ownIdentity()
        case .roll:
            try handler.vaults.profile.rollTransientKey()
            return try handler.ownIdentity()
        case .verify(let target, let words): return try handler.verify(target, words)
        }
    }
}

/// The identity that a request concerns.
package enum IdentityTarget: Codable, Sendable {
    /// A member, by name or by the beginning of the identity's id.
    case member(vault: String, member: String)
    /// The identity of an identity card, given as text.
    case card(String)
}
