internal import CofferHTTP

extension RemoteError {
    /// The meaning of a request that has no answer.
    init(_ error: HTTPError) {
        self =
            switch error {
            case .unreachable(let reason), .cutShort(let reason): .unreachable(reason)
            case .failed(let reason): .failed(reason)
            case .tooLong(let limit): .failed("its answer has more than \(limit) bytes")
            case .wantsClearText:
                .refused("it wants the password in clear text over http, where others can read it; use https")
            case .unreadable(let error): .unreadable(error)
            case .cancelled: .cancelled
            }
    }

    /// Overload, with the pause that the server asks for.
    static func busy(_ answer: HTTPResponse) -> RemoteError {
        .busy(after: answer.retryAfterSeconds.map { .seconds($0) })
    }
}

extension HTTPClient {
    /// Sends a request for a backend.
    func send(_ request: HTTPRequest) async throws(RemoteError) -> HTTPResponse {
        do throws(HTTPError) { return try await perform(request) } catch { throw RemoteError(error) }
    }
}
