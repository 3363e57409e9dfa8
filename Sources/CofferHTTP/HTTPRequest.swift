/// A request to an HTTP server, and the limits of its answer.
package struct HTTPRequest: Sendable {
    /// The method, such as "GET"; upper-case letters.
    package var method: String
    /// The whole URL, percent-encoded, of scheme http or https.
    package var url: String
    /// Headers besides those that the client adds itself, such as Host and Content-Length.
    package var headers: [HTTPHeader] = []
    /// What is sent; nil for no body.
    package var body: (any HTTPBody)?
    /// Asks for these bytes of the resource only; not empty.
    ///
    /// If the server answers with the whole resource, the client drops the bytes before the range, and ends
    /// the transfer after it.
    package var range: Range<Int>?
    /// The largest body that is accepted in an answer, in bytes; does not apply to ranges.
    package var answerByteCountMax = 1 << 20
    /// Who asks, for servers with HTTP authentication; nil for requests that authenticate themselves.
    package var login: HTTPLogin?
    /// Whether a proxy of the environment may be asked, as none is for this machine itself.
    package var usesProxy = true

    /// Makes a request without headers and without a body.
    package init(_ method: String, _ url: String) {
        self.method = method
        self.url = url
    }
}

/// A header of a request.
package struct HTTPHeader: Equatable, Sendable {
    /// The name, in any case.
    package let name: String
    /// The value, without line ends.
    package let value: String

    /// Makes a header.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A user of a server with HTTP authentication, Basic or Digest (RFC 7617, RFC 7616).
package struct HTTPLogin: Equatable, Sendable {
    /// The user's name; nil for the one that ~/.netrc has for the host.
    package let user: String?
    /// The password; nil for the one that ~/.netrc has for the host and the user.
    package let password: String?
    /// Whether the password may be sent in clear text (Basic) over plain http.
    package let allowsClearText: Bool

    package init(user: String?, password: String?, allowsClearText: Bool) {
        self.user = user
        self.password = password
        self.allowsClearText = allowsClearText
    }
}
