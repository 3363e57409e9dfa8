/// Asks for the state of the profile and its vaults.
package struct StatusRequest: ControlRequest {
    /// Asks for everything.
    package init() {}

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .status(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> StatusReport {
        handler.status()
    }
}

/// Asks for the names of vaults, and of one vault's members, for shell completion; quick, without storing
/// anything.
package struct NamesRequest: ControlRequest {
    let vault: String?

    /// - Parameter vault: The vault whose members and snapshots to name; nil for none.
    package init(vault: String?) {
        self.vault = vault
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .names(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> KnownNames {
        // A vault without a remote has no members.
        let members = vault.flatMap { try? handler.shared.named($0).memberNames() } ?? []
        let snapshots = vault.flatMap { try? handler.snapshots(of: $0).map(\.name) } ?? []
        return KnownNames(
            vaults: handler.vaults.profile.vaults.map(\.name), members: members, snapshots: snapshots)
    }
}

/// Names that a shell can complete.
package struct KnownNames: Codable, Sendable {
    /// The names of all vaults of the profile.
    package let vaults: [String]
    /// The names of the members of one vault.
    package let members: [String]
    /// The names of the snapshots of one vault.
    package let snapshots: [String]
}

/// Asks to read all data of one vault or of all, and to report damage.
package struct CheckRequest: ControlRequest {
    let vault: String?
    let remote: RemoteDepth?

    /// How to check the remotes of vaults.
    package enum RemoteDepth: String, Codable, Sendable {
        /// By listings.
        case listed
        /// By fetching everything.
        case read
    }

    /// - Parameters:
    ///   - vault: The vault; nil for all.
    ///   - remote: How to check the remotes, too; nil for not at all.
    package init(vault: String?, remote: RemoteDepth? = nil) {
        (self.vault, self.remote) = (vault, remote)
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .check(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> CheckReport {
        try handler.check(vault, remote: remote, for: client)
    }
}
