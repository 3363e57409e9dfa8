internal import Synchronization

/// Where a client of S3 gets its credentials: found once, and looked for again when they end or are refused.
///
/// The order is that of Amazon's tools, with those of the profile after the files: variables, files, profile,
/// roles. Those that were refused are passed over if there are others.
package final class S3CredentialSource: Sendable {
    private let environment: S3Environment
    private let now: @Sendable () -> Int64
    private let login: @Sendable () -> RemoteLogin?
    private let found = Mutex<Found?>(nil)
    private let roles: S3RoleCredentials
    /// Seconds before their end from which on credentials are not used any more.
    private static let reserve: Int64 = 120

    /// Credentials, and whether they are of the profile.
    private struct Found {
        let credentials: S3Credentials
        var isLogin = false
    }

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - login: The credentials that the profile has now.
    ///   - now: Seconds since 1970.
    init(
        _ environment: S3Environment, login: @escaping @Sendable () -> RemoteLogin? = { nil },
        now: @escaping @Sendable () -> Int64
    ) {
        self.environment = environment
        self.login = login
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
        if let last, last.credentials != refused, isValid(last) { return last.credentials }
        do throws(RemoteError) {
            let new = try await look(besides: refused)
            found.withLock { $0 = new }
            return new.credentials
        } catch {
            // Those that end soon are good until they do.
            guard let last = last?.credentials, last != refused, let end = last.expiration, end > now()
            else { throw error }
            return last
        }
    }

    private func isValid(_ found: Found) -> Bool {
        // Those of the profile may have been replaced or removed.
        if found.isLogin, fromLogin != found.credentials { return false }
        return found.credentials.expiration.map { $0 - Self.reserve > now() } ?? true
    }

    private func look(besides refused: S3Credentials?) async throws(RemoteError) -> Found {
        var first: Found?
        for isLogin in [false, true] {
            for credentials in isLogin ? [fromLogin] : [fromVariables, fromFiles] {
                guard let credentials else { continue }
                let found = Found(credentials: credentials, isLogin: isLogin)
                if credentials != refused { return found }
                first = first ?? found
            }
        }
        if let first { return first }
        if let credentials = try await roles.ofContainer() { return Found(credentials: credentials) }
        if let credentials = try await roles.ofMachine() { return Found(credentials: credentials) }
        throw .refused(
            """
            no credentials for S3 were found. Give Coffer some with “coffer remote login”. Otherwise they are \
            looked for in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in the profile \
            “\(environment.profile)” of \(environment.credentialsPath) and \(environment.configPath), and in \
            the role of this container or virtual machine
            """)
    }

    private var fromLogin: S3Credentials? {
        login().map { login in
            let token = RemoteLogin.text(login.token)
            return S3Credentials(
                accessKey: RemoteLogin.text(login.user), secretKey: RemoteLogin.text(login.secret),
                sessionToken: token.isEmpty ? nil : token)
        }
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
