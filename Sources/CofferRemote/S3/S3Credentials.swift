/// What a client of S3 signs its requests with.
package struct S3Credentials: Equatable, Sendable {
    /// The public identifier of the key.
    package let accessKey: String
    /// The key.
    package let secretKey: String
    /// What proves that temporary credentials are valid; nil for permanent ones.
    package let sessionToken: String?
    /// When they end, in seconds since 1970; nil if that is not known.
    package let expiration: Int64?

    /// Makes credentials.
    package init(
        accessKey: String, secretKey: String, sessionToken: String? = nil, expiration: Int64? = nil
    ) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}
