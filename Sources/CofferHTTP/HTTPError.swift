package import CofferSystem

/// Why a request has no answer.
package enum HTTPError: Error, Equatable {
    /// The server could not be reached, or stopped answering; the reason names the host.
    case unreachable(String)
    /// The server ended the connection before its answer was whole.
    case cutShort(String)
    /// The server's certificate is not trusted, or is of another host.
    case untrusted(String)
    /// The connection failed in another way: an answer that is not HTTP, no common version of TLS.
    case failed(String)
    /// The answer is longer than the request allows, in bytes.
    case tooLong(limit: Int)
    /// The server asks for a password in clear text over plain http.
    case wantsClearText
    /// The body to send could not be read.
    case unreadable(SystemError)
    /// The task was cancelled.
    case cancelled
}
