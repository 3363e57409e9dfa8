/// Lists the conflict copies of one vault, or of all.
package struct ConflictsRequest: ControlRequest {
    let vault: String?

    /// - Parameter vault: The vault; nil for all.
    package init(vault: String?) {
        self.vault = vault
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .conflicts(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> [ConflictReport] {
        try handler.conflicts(of: vault)
    }
}

/// Keeps one of two versions, and deletes the other.
package struct ResolveRequest: ControlRequest {
    let vault: String
    let path: String
    let keeps: ConflictChoice

    /// - Parameter path: The path of the conflict copy in the vault.
    package init(vault: String, path: String, keeps: ConflictChoice) {
        self.vault = vault
        self.path = path
        self.keeps = keeps
    }

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .resolve(self) }

    package func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Done {
        try handler.resolve(path, of: vault, keeps)
        return Done()
    }
}

/// The version of a conflict to keep.
package enum ConflictChoice: String, Codable, Sendable, CaseIterable {
    /// The item with the original name; the copy is removed.
    case original
    /// The copy, which takes the original name; the item that had it is removed.
    case copy
}
