internal import CofferHTTP
internal import CofferSystem

/// The temporary keys that a container, or a virtual machine, gets from the cloud that it runs in.
///
/// From "Container credential provider" and "IMDS credential provider" in the AWS SDKs reference. No proxy is asked.
struct S3RoleCredentials: Sendable {
    private static let containerHost = "http://169.254.170.2"
    private static let machineHost = "http://169.254.169.254"
    private static let rolePath = "/latest/meta-data/iam/security-credentials/"
    private static let fileByteCountMax = 16 << 10

    private let environment: S3Environment
    private let http: HTTPClient

    init(_ environment: S3Environment) {
        self.environment = environment
        var settings = HTTPSettings()
        // The services are next to the machine, or not there at all.
        (settings.connectSeconds, settings.stallSeconds) = (2, 5)
        http = HTTPClient(settings)
    }

    /// The keys of the container, if it says that it has some; nil if not.
    ///
    /// - Throws: `.refused` if it names a server that others could listen to; `.unreachable`, `.failed`.
    func ofContainer() async throws(RemoteError) -> S3Credentials? {
        let url: String
        if let path = environment.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            guard path.hasPrefix("/") else {
                throw .refused("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash")
            }
            url = Self.containerHost + path
        } else if let whole = environment.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            guard Self.isTrusted(whole) else {
                throw .refused(
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine: \(PrintableText.of(whole.utf8))"
                )
            }
            url = whole
        } else {
            return nil
        }
        var request = HTTPRequest("GET", url)
        if let token = try containerToken() { request.headers = [HTTPHeader("Authorization", token)] }
        return try Self.credentials(try await send(request), of: "the container")
    }

    /// The token that a container authenticates with; the file changes from time to time.
    private func containerToken() throws(RemoteError) -> String? {
        guard let path = environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") else {
            return environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")
        }
        guard let bytes = environment.file(path), bytes.count <= Self.fileByteCountMax else {
            throw .refused("\(path), which AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names, cannot be read")
        }
        let token = String(decoding: bytes, as: UTF8.self).trimmingLineEnds
        guard !token.utf8.contains(where: { $0 < 0x20 }) else {
            throw .refused("\(path) has more than one line")
        }
        return token
    }

    /// Whether a URL is https, or of an address that only this machine reaches.
    static func isTrusted(_ url: String) -> Bool {
        if url.hasPrefix("https://") { return true }
        guard url.hasPrefix("http://") else { return false }
        let authority = url.dropFirst(7).prefix { !"/?#".contains($0) }
        guard URLText.isAuthority(authority) else { return false }
        let host =
            authority.hasPrefix("[")
            ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        let known = ["localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isLoopback = parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        return known.contains(host.lowercased()) || isLoopback
    }

    /// The keys of the virtual machine, by version 2 of its metadata service; nil if there is no such service.
    func ofMachine() async throws(RemoteError) -> S3Credentials? {
        if environment.variable("AWS_EC2_METADATA_DISABLED")?.lowercased() == "true" { return nil }
        let host = environment.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? Self.machineHost
        guard URLText.isServer(host.hasSuffix("/") ? String(host.dropLast()) : host) else {
            throw .refused("AWS_EC2_METADATA_SERVICE_ENDPOINT is not the URL of a server")
        }
        let server = host.hasSuffix("/") ? String(host.dropLast()) : host
        var request = HTTPRequest("PUT", "\(server)/latest/api/token")
        request.headers = [HTTPHeader("X-aws-ec2-metadata-token-ttl-seconds", "300")]
        request.body = [UInt8]()
        let answer: HTTPResponse
        // Elsewhere there is nobody at this address.
        do throws(RemoteError) { answer = try await send(request) } catch {
            if error == .cancelled { throw error }
            return nil
        }
        guard answer.isSuccess, let token = Self.word(answer.body) else { return nil }
        let header = HTTPHeader("X-aws-ec2-metadata-token", token)
        let roles = try await get("\(server)\(Self.rolePath)", header)
        // A machine without a role.
        if roles.status == 404 { return nil }
        guard roles.isSuccess, let role = Self.word(roles.body.prefix { $0 != 0x0A }) else {
            throw .failed("the metadata service of this machine names no role (status \(roles.status))")
        }
        let path = "\(server)\(Self.rolePath)\(PercentEncoding.encode(role))"
        return try Self.credentials(try await get(path, header), of: "this machine")
    }

    private func get(_ url: String, _ header: HTTPHeader) async throws(RemoteError) -> HTTPResponse {
        var request = HTTPRequest("GET", url)
        request.headers = [header]
        return try await send(request)
    }

    private func send(_ request: HTTPRequest) async throws(RemoteError) -> HTTPResponse {
        var request = request
        request.usesProxy = false
        request.answerByteCountMax = 64 << 10
        return try await http.send(request)
    }

    /// A short text of printable ASCII, such as a token or the name of a role.
    private static func word(_ bytes: some Collection<UInt8>) -> String? {
        guard (1...4096).contains(bytes.count), bytes.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func credentials(
        _ answer: HTTPResponse, of whom: String
    ) throws(RemoteError) -> S3Credentials {
        guard answer.isSuccess else {
            throw answer.status >= 500
                ? .failed("the service for keys of \(whom) answers with status \(answer.status)")
                : .refused("the service for keys of \(whom) answers with status \(answer.status)")
        }
        guard let texts = JSONTexts(answer.body), texts["Code"] ?? "Success" == "Success",
            let key = texts["AccessKeyId"], let secret = texts["SecretAccessKey"],
            ![key, secret, texts["Token"] ?? ""].contains(where: { $0.utf8.contains { $0 < 0x20 } })
        else { throw .failed("the service for keys of \(whom) answers with none") }
        return S3Credentials(
            accessKey: key, secretKey: secret, sessionToken: texts["Token"],
            expiration: texts["Expiration"].flatMap { UTCTime.seconds($0) })
    }
}

extension String {
    /// Without line ends at its end.
    fileprivate var trimmingLineEnds: String {
        String(decoding: utf8.reversed().drop { $0 == 0x0A || $0 == 0x0D }.reversed(), as: UTF8.self)
    }
}
