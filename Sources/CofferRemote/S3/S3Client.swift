internal import CofferHTTP
internal import CofferSystem

/// Sends signed requests to a bucket, and repeats one whose credentials have ended.
struct S3Client: Sendable {
    /// The hash of no bytes.
    static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    let place: S3Place
    private let source: S3CredentialSource
    private let http: HTTPClient
    private let now: @Sendable () -> Int64

    init(
        _ place: S3Place, _ source: S3CredentialSource, _ http: HTTPClient,
        now: @escaping @Sendable () -> Int64
    ) {
        self.place = place
        self.source = source
        self.http = http
        self.now = now
    }

    /// A request for an object, or for the bucket if the key is empty.
    struct Request: Sendable {
        var method: String
        var key: String
        var query: [(name: String, value: String)] = []
        /// With names in lower case; they are signed.
        var headers: [HTTPHeader] = []
        var body: (any HTTPBody)?
        /// The hexadecimal SHA-256 hash of the body.
        var bodyHash = S3Client.emptyHash
        var range: Range<Int>?
        var answerByteCountMax = 1 << 20

        init(_ method: String, _ key: String) {
            self.method = method
            self.key = key
        }
    }

    /// The answer of the server, whatever its status.
    func send(_ request: Request) async throws(RemoteError) -> HTTPResponse {
        let answer = try await exchange(request)
        guard request.method == "HEAD", Self.unexplained.contains(answer.status), answer.body.isEmpty else {
            return answer
        }
        // An answer to HEAD has no body that says what is wrong.
        var reading = request
        (reading.method, reading.range) = ("GET", 0..<1)
        let explanation = try await exchange(reading)
        return Self.unexplained.contains(explanation.status) ? explanation : answer
    }

    /// Statuses that may mean the credentials, the clock, or the rights.
    private static let unexplained = [400, 401, 403]

    private func exchange(_ request: Request) async throws(RemoteError) -> HTTPResponse {
        let credentials = try await source.credentials()
        let answer = try await http.send(signed(request, credentials))
        guard !answer.isSuccess, S3Failure(answer).isOfCredentials else { return answer }
        // They may have been replaced since they were read.
        let others = try await source.credentials(refused: credentials)
        return others == credentials ? answer : try await http.send(signed(request, others))
    }

    private func signed(_ request: Request, _ credentials: S3Credentials) -> HTTPRequest {
        let time = UTCTime(secondsSince1970: max(0, now()))
        let path = place.path(request.key)
        let query = S3Signature.canonical(query: request.query)
        var headers = request.headers
        headers.append(HTTPHeader("x-amz-content-sha256", request.bodyHash))
        headers.append(HTTPHeader("x-amz-date", time.compact))
        if let token = credentials.sessionToken {
            headers.append(HTTPHeader("x-amz-security-token", token))
        }
        let signature = S3Signature(credentials: credentials, region: place.region, time: time)
        let authorization = signature.authorization(
            S3Signature.Signed(
                method: request.method, path: path, query: query,
                headers: headers + [HTTPHeader("host", place.host)], bodyHash: request.bodyHash))
        var signed = HTTPRequest(request.method, place.url(path, query: query))
        // Many servers never ask for the body, and libcurl would wait a second for that.
        signed.headers = headers + [HTTPHeader("Authorization", authorization), HTTPHeader("Expect", "")]
        signed.body = request.body
        signed.range = request.range
        signed.answerByteCountMax = request.answerByteCountMax
        return signed
    }
}
