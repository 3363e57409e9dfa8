/// A request that changes which remote a vault has.
package enum RemoteRequest: ControlRequest {
    /// Publishes a vault at a place that other devices can reach.
    case add(vault: String, url: String)
    /// Moves the sync of a vault to another place, to which the current remote was copied.
    case move(vault: String, url: String)
    /// Stops syncing a vault; its objects stay at the remote.
    case remove(vault: String, contents: RemoteOnly = .refuse)

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .remote(self) }

    package func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Done {
        switch self {
        case .add(let vault, let url): try handler.shared.publish(vault, at: url)
        case .move(let vault, let url): try handler.shared.move(vault, to: url)
        case .remove(let vault, let contents): try handler.shared.giveUp(vault, contents, client.progress)
        }
        return Done()
    }
}

/// How to treat content that is only at the remote, when a vault gives up its remote.
package enum RemoteOnly: String, Codable, Sendable {
    /// Keep the remote, and fail.
    case refuse
    /// Fetch the content first.
    case fetch
    /// Give up the content.
    case lose
}

/// Tests the remote of a vault, or one by its URL.
package enum RemoteTestRequest: ControlRequest {
    case vault(String)
    case url(String)

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .remoteTest(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> RemoteTestReport {
        switch self {
        case .vault(let name): try handler.testRemote(of: name)
        case .url(let url): try RemoteTrial.run(url, logins: handler.vaults.profile.logins)
        }
    }
}

/// Sends and fetches everything, for one vault or for all that have a remote.
package struct SyncRequest: ControlRequest {
    let vault: String?

    /// - Parameter vault: The vault; nil for all that have a remote.
    package init(vault: String?) {
        self.vault = vault
    }

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .sync(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> [SyncReport] {
        try handler.sync(vault, client.progress)
    }
}
