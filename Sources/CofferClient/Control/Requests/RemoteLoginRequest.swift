internal import CofferCrypto
package import CofferRemote

/// A request about the credentials of a remote, given by its URL or by a vault that has it.
package enum RemoteLoginRequest: ControlRequest {
    /// Says which credentials a remote wants.
    case find(remote: String)
    /// Keeps credentials, which cross the socket, which only this user can reach.
    ///
    /// - Parameters:
    ///   - user: The access key, or the user.
    ///   - secret: The secret key, or the password.
    ///   - token: The session token; empty if there is none.
    case set(remote: String, user: [UInt8], secret: [UInt8], token: [UInt8])
    /// Removes credentials.
    case remove(remote: String)

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .remoteLogin(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> RemoteLoginReport {
        switch self {
        case .find(let remote): return try handler.loginReport(on: remote)
        case .set(let remote, var user, var secret, var token):
            return try handler.setLogin(
                on: remote, user: SecretBytes(moving: &user), secret: SecretBytes(moving: &secret),
                token: SecretBytes(moving: &token))
        case .remove(let remote): return try handler.removeLogin(on: remote)
        }
    }
}

/// What is known of the credentials of a remote; never the credentials themselves.
package struct RemoteLoginReport: Codable, Sendable {
    /// What the credentials are for: a bucket, or a server and a user.
    package let place: String
    /// Which they are.
    package let kind: RemoteLogin.Kind
    /// The user that the URL names; absent if it names none.
    package let user: String?
    /// Whether the profile has some.
    package let isSet: Bool
    /// The vaults that use them.
    package let vaults: [String]
}
