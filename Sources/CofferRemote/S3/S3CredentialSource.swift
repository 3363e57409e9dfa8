internal import Synchronization

/// Where a client of S3 gets its credentials: found once, and looked for again when they end or are refused.
package final class S3CredentialSource: Sendable {
    private let environment: S3Environment
    private let now: @Sendable () -> Int64
    private let found = Mutex<S3Credentials?>(nil)
    private let roles: S3RoleCredentials
    /// Seconds before their end from which on credentials are not used any more.
    private static let reserve: Int64 = 120

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970.
    init(_ environment: S3Environment, now: @escaping @Sendable () -> Int64) {
        self.environment = environment
        self.now = now
        roles = S3RoleCredentials(environment)
    }

    /// The credentials to sign with.
    ///
    /// - Parameter refused: Credentials that the server has refused, so that these are no answer unless they
    ///   are all there are.
    /// - Throws: `.refused` with where credentials are looked for, if there are none.
    func credentials(refused: S3Credentials? = nil) async throws(RemoteError) -> S3Credentials {
        let last = found.withLock { $0 }
        if let last, last != refused, isValid(last) { return last }
        do throws(RemoteError) {
            let credentials = try await look()
            found.withLock { $0 = credentials }
            return credentials
        } catch {
            // Those that end soon are good until they do.
            guard let last, last != refused, let end = last.expiration, end > now() else { throw error }
            return last
        }
    }

    private func isValid(_ credentials: S3Credentials) -> Bool {
        credentials.expiration.map { $0 - Self.reserve > now() } ?? true
    }

    private func look() async throws(RemoteError) -> S3Credentials {
        if let credentials = fromVariables { return credentials }
        if let credentials = fromFiles { return credentials }
        if let credentials = try await roles.ofContainer() { return credentials }
        if let credentials = try await roles.ofMachine() { return credentials }
        throw .refused(
            """
            no credentials for S3 were found. They are looked for in AWS_ACCESS_KEY_ID and \
            AWS_SECRET_ACCESS_KEY, in the profile “\(environment.profile)” of \(environment.credentialsPath) and \
            \(environment.configPath), and in the role of this container or virtual machine
            """)
    }

    private var fromVariables: S3Credentials? {
        Self.credentials(
            environment.variable("AWS_ACCESS_KEY_ID"), environment.variable("AWS_SECRET_ACCESS_KEY"),
            environment.variable("AWS_SESSION_TOKEN"))
    }

    private var fromFiles: S3Credentials? {
        let settings = environment.settings
        return Self.credentials(
            settings["aws_access_key_id"], settings["aws_secret_access_key"], settings["aws_session_token"])
    }

    private static func credentials(_ key: String?, _ secret: String?, _ token: String?) -> S3Credentials? {
        guard let key, let secret else { return nil }
        return S3Credentials(accessKey: key, secretKey: secret, sessionToken: token)
    }
}
