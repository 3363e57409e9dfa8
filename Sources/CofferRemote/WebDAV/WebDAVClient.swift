internal import CofferHTTP
internal import CofferSystem
internal import Synchronization

/// Sends requests to a collection of a WebDAV server (RFC 4918).
struct WebDAVClient: Sendable {
    private static let attemptCountMax = 8

    let url: WebDAVURL
    private let http: HTTPClient
    /// The user and the password of the environment, or of ~/.netrc.
    private let own: HTTPLogin
    private let login: @Sendable () -> RemoteLogin?
    private let choice = Choice()

    /// Which password is used.
    private final class Choice: Sendable {
        /// Whether the profile's is used: once the server has refused those that come first.
        let usesProfile = Mutex(false)
        private let refused = Mutex<(login: HTTPLogin, time: Int64)?>(nil)
        /// How long a login that was refused is not sent again, in nanoseconds: servers lock accounts.
        private static let refusedTime: Int64 = 60_000_000_000

        func noteRefused(_ login: HTTPLogin) { refused.withLock { $0 = (login, Clock.monotonic) } }

        func wasRefused(_ login: HTTPLogin) -> Bool {
            refused.withLock { refused in
                guard let refused, refused.login == login else { return false }
                return Clock.monotonic - refused.time < Self.refusedTime
            }
        }
    }

    /// Makes a client; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - variable: The variables of the environment.
    ///   - login: The password that the profile has now.
    init(
        _ url: WebDAVURL, _ http: HTTPClient, variable: (String) -> String?,
        login: @escaping @Sendable () -> RemoteLogin? = { nil }
    ) {
        self.url = url
        self.http = http
        self.login = login
        // An invite may name any server, so the variables say which one they are for.
        let isMeant = variable("COFFER_WEBDAV_SERVER") == url.server
        own = HTTPLogin(
            user: url.user ?? (isMeant ? variable("COFFER_WEBDAV_USER") : nil),
            password: isMeant ? variable("COFFER_WEBDAV_PASSWORD") : nil,
            allowsClearText: url.isSecure || url.isLocal)
    }

    /// The URL of a path below the collection; names of objects need no encoding, nor do temporary ones.
    func address(_ path: String) -> String { path.isEmpty ? url.http + "/" : "\(url.http)/\(path)" }

    /// A request for a path below the collection.
    func request(_ method: String, _ path: String) -> HTTPRequest {
        var request = HTTPRequest(method, address(path))
        request.login = current
        return request
    }

    private var current: HTTPLogin {
        choice.usesProfile.withLock { $0 } ? ofProfile ?? own : own
    }

    private var ofProfile: HTTPLogin? {
        login().map { login in
            HTTPLogin(
                user: RemoteLogin.text(login.user), password: RemoteLogin.text(login.secret),
                allowsClearText: own.allowsClearText)
        }
    }

    /// The answer of the server; if it refuses who asks, that to the password of the profile.
    private func exchange(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let answer = try await http.perform(request)
        guard answer.status == 401, request.login != nil else { return answer }
        var again = request
        again.login = ofProfile
        if let login = request.login, choice.usesProfile.withLock({ $0 }) { choice.noteRefused(login) }
        guard let login = again.login, login != request.login, !choice.wasRefused(login) else {
            // Those that come first may be right when it is asked the next time.
            choice.usesProfile.withLock { $0 = false }
            return answer
        }
        let second = try await http.perform(again)
        choice.usesProfile.withLock { $0 = second.status != 401 }
        if second.status == 401 { choice.noteRefused(login) }
        return second
    }

    /// Like `send`, for a request that changes nothing: repeats it if the answer is cut short.
    ///
    /// Apache ends the connection if a member of a collection vanishes while it lists that.
    func sendUntilWhole(_ request: HTTPRequest) async throws(RemoteError) -> HTTPResponse {
        for _ in 1..<Self.attemptCountMax {
            do throws(HTTPError) {
                return try await exchange(request)
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
        do throws(HTTPError) { return try await exchange(request) } catch { throw RemoteError(error) }
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
                it wants a user and a password that it knows (status 401): give them to Coffer with “coffer \
                remote login”, or put them into ~/.netrc, or into COFFER_WEBDAV_USER and \
                COFFER_WEBDAV_PASSWORD with COFFER_WEBDAV_SERVER
                """)
        case 300..<400: .redirect(answer)
        case 407: .proxyWantsLogin
        case 403: isChange ? .readOnly : .refused("it does not allow this (status 403)")
        case 404, 410: .absent
        case 400, 402, 405, 406, 415: .refused("status \(answer.status)")
        case 413, 507: .full
        case 423, 429, 503: .busy(answer)
        case 501: .unsupported("status 501")
        default: .failed("status \(answer.status)")
        }
    }
}
