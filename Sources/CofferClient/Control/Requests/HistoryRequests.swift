/// Lists the past states of a vault, or those in which an item was different.
package struct HistoryRequest: ControlRequest {
    let vault: String
    let path: String

    /// - Parameter path: The path in the vault; empty for the whole vault.
    package init(vault: String, path: String) {
        self.vault = vault
        self.path = path
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .history(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> HistoryReport {
        try handler.history(of: path, in: vault, client)
    }
}

/// Compares two states of a vault.
package struct DifferenceRequest: ControlRequest {
    let vault: String
    let path: String
    let from: PastPlace
    let to: PastPlace?

    /// - Parameters:
    ///   - path: The path in the vault; empty for the whole vault.
    ///   - from: The first state.
    ///   - to: The second state; nil for the present one.
    package init(vault: String, path: String, from: PastPlace, to: PastPlace?) {
        self.vault = vault
        self.path = path
        self.from = from
        self.to = to
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .difference(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> DifferenceReport {
        try handler.differences(of: path, in: vault, from: from, to: to, client)
    }
}

/// Brings back what a path led to.
package struct RestoreRequest: ControlRequest {
    let vault: String
    let path: String
    let state: PastPlace
    let isExact: Bool

    /// - Parameters:
    ///   - path: The path in the vault; empty for the whole vault.
    ///   - isExact: Whether items below the path are removed that were not there then.
    package init(vault: String, path: String, state: PastPlace, isExact: Bool) {
        self.vault = vault
        self.path = path
        self.state = state
        self.isExact = isExact
    }

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .restore(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> RestoredReport {
        try handler.restore(path, in: vault, at: state, isExact: isExact, client)
    }
}

/// Takes back what some devices did.
package struct UndoRequest: ControlRequest {
    let vault: String
    let authors: [String]
    let since: PastPlace
    let isRehearsal: Bool

    /// - Parameters:
    ///   - authors: Names of members or of devices.
    ///   - since: The state from which the changes count.
    ///   - isRehearsal: Whether nothing is to be changed.
    package init(vault: String, authors: [String], since: PastPlace, isRehearsal: Bool) {
        self.vault = vault
        self.authors = authors
        self.since = since
        self.isRehearsal = isRehearsal
    }

    package var changesVaults: Bool { !isRehearsal }
    package var message: RequestMessage { .undo(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> UndoneReport {
        try handler.undo(in: vault, by: authors, since: since, isRehearsal: isRehearsal, client)
    }
}
