internal import CofferHTTP

/// Sends requests to a collection of a WebDAV server (RFC 4918).
struct WebDAVClient: Sendable {
    private static let attemptCountMax = 8

    let url: WebDAVURL
    private let http: HTTPClient
    private let login: HTTPLogin

    /// Makes a client; nothing is sent yet.
    ///
    /// - Parameter variable: The variables of the environment.
    init(_ url: WebDAVURL, _ http: HTTPClient, variable: (String) -> String?) {
        self.url = url
        self.http = http
        // An invite may name any server, so the variables say which one they are for.
        let isMeant = variable("COFFER_WEBDAV_SERVER") == url.server
        login = HTTPLogin(
            user: url.user ?? (isMeant ? variable("COFFER_WEBDAV_USER") : nil),
            password: isMeant ? variable("COFFER_WEBDAV_PASSWORD") : nil,
            allowsClearText: url.isSecure || url.isLocal)
    }

    /// The URL of a path below the collection; names of objects need no encoding, nor do temporary ones.
    func address(_ path: String) -> String { path.isEmpty ? url.http + "/" : "\(url.http)/\(path)" }

    /// A request for a path below the collection.
    func request(_ method: String, _ path: String) -> HTTPRequest {
        var request = HTTPRequest(method, address(path))
        request.login = login
        return request
    }

    /// Like `send`, for a request that changes nothing: repeats it if the answer is cut short.
    ///
    /// Apache ends the connection if a member of a collection vanishes while it lists that.
    func sendUntilWhole(_ request: HTTPRequest) async throws(RemoteError) -> HTTPResponse {
        for _ in 1..<Self.attemptCountMax {
            do throws(HTTPError) {
                return try await http.perform(request)
            } catch {
                guard case .cutShort = error else { throw RemoteError(error) }
            }
        }
        return try await send(request)
    }

    /// A request that moves a resource to another path, if nothing is there.
    func move(_ path: String, to target: String) -> HTTPRequest {
        var request = request("MOVE", path)
        request.headers = [HTTPHeader("Destination", address(target)), HTTPHeader("Overwrite", "F")]
        return request
    }

    /// The answer of the server, whatever its status.
    func send(_ request: HTTPRequest) async throws(RemoteError) -> HTTPResponse {
        try await http.send(request)
    }

    /// The fact that an answer to a change states; never that an object is absent.
    static func error(ofChange answer: HTTPResponse) -> RemoteError {
        let error = error(answer, isChange: true)
        return error == .absent ? .failed("status \(answer.status)") : error
    }

    /// The fact that an answer states that is no success.
    ///
    /// - Parameter isChange: Whether the request was to change something.
    static func error(_ answer: HTTPResponse, isChange: Bool) -> RemoteError {
        switch answer.status {
        case 401:
            .refused(
                """
                it wants a user and a password that it knows: put them into ~/.netrc, or into \
                COFFER_WEBDAV_USER and COFFER_WEBDAV_PASSWORD with COFFER_WEBDAV_SERVER
                """)
        case 300..<400: .refused("it redirects to \(answer["location"] ?? "another place"): use that URL")
        case 403: isChange ? .readOnly : .refused("it does not allow this (status 403)")
        case 404, 410: .absent
        case 400, 402, 405, 406, 407, 415: .refused("status \(answer.status)")
        case 413, 507: .full
        case 423, 429, 503: .busy(answer)
        case 501: .unsupported("status 501")
        default: .failed("status \(answer.status)")
        }
    }
}
