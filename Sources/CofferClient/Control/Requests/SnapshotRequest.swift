/// A request that concerns states of vaults that have a name.
package enum SnapshotRequest: ControlRequest {
    /// Gives a name to the present state of a vault.
    case create(vault: String, name: String)
    /// Lists the snapshots of one vault, or of all.
    case list(vault: String?)
    /// Removes a snapshot.
    case remove(vault: String, name: String)

    package var changesVaults: Bool {
        switch self {
        case .create, .remove: true
        case .list: false
        }
    }

    package var message: RequestMessage { .snapshot(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> [SnapshotReport] {
        switch self {
        case .create(let vault, let name): [try handler.addSnapshot(name, of: vault)]
        case .list(let vault): try handler.snapshots(of: vault)
        case .remove(let vault, let name): [try handler.removeSnapshot(name, of: vault)]
        }
    }
}
