internal import CofferHTTP
internal import CofferSystem

extension RemoteError {
    /// The meaning of a request that has no answer.
    init(_ error: HTTPError) {
        self =
            switch error {
            case .unreachable(let reason), .cutShort(let reason): .unreachable(reason)
            case .untrusted(let reason):
                .refused(
                    """
                    its certificate cannot be verified (\(reason)). Somebody may be in between, or this machine's \
                    clock may be wrong. If the server has an authority of its own, set SSL_CERT_FILE to a file \
                    with that authority's certificate
                    """)
            case .failed(let reason): .failed(reason)
            case .tooLong(let limit): .failed("its answer has more than \(limit) bytes")
            case .wantsClearText:
                .refused("it wants the password in clear text over http, where others can read it; use https")
            case .unreadable(let error): .unreadable(error)
            case .cancelled: .cancelled
            }
    }

    /// A redirect, which is not followed: credentials and objects would go to another place.
    static func redirect(_ answer: HTTPResponse) -> RemoteError {
        let place = answer["location"].map { PrintableText.of($0.prefix(500).utf8) } ?? "another place"
        return .refused(
            "it redirects to \(place). Use that URL if you trust it; a network that wants a login redirects, too"
        )
    }

    /// What a proxy says that wants a login of its own.
    static let proxyWantsLogin = RemoteError.refused(
        "the proxy wants a user and a password (status 407): put them into the URL of http_proxy or https_proxy"
    )

    /// Overload, with the pause that the server asks for.
    static func busy(_ answer: HTTPResponse) -> RemoteError {
        .busy(after: answer.retryAfter(Clock.realTime / 1_000_000_000))
    }
}

extension HTTPClient {
    /// Sends a request for a backend.
    func send(_ request: HTTPRequest) async throws(RemoteError) -> HTTPResponse {
        do throws(HTTPError) { return try await perform(request) } catch { throw RemoteError(error) }
    }
}
