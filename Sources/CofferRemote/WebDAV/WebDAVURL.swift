internal import CofferSystem

/// The URL of a collection of a WebDAV server: "webdav://USER@HOST:PORT/PATH" over http, "webdavs:" over https.
package struct WebDAVURL: Hashable, Sendable {
    let isSecure: Bool
    /// The user, decoded; nil for the one of the environment, or of ~/.netrc.
    let user: String?
    /// The host, and the port if it is given.
    let authority: String
    /// The path, decoded, without "/" at its ends; may be empty.
    let path: String

    /// Parses what follows "webdav:" or "webdavs:".
    init(_ rest: Substring, isSecure: Bool) throws(RemoteURL.Mistake) {
        guard rest.hasPrefix("//") else { throw .badPlace(Self.form) }
        guard !rest.contains("?"), !rest.contains("#") else { throw .hasCredentials }
        var parts = rest.dropFirst(2).split(separator: "/", omittingEmptySubsequences: false)
        while parts.count > 1, parts.last == "" { parts.removeLast() }
        var authority = parts.removeFirst()
        var user: String?
        if let at = authority.lastIndex(of: "@") {
            guard !authority[..<at].contains(":") else { throw .hasCredentials }
            guard let decoded = PercentEncoding.decode(authority[..<at]), !decoded.isEmpty,
                !decoded.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: ":") })
            else { throw .badEncoding }
            user = decoded
            authority = authority[authority.index(after: at)...]
        }
        guard URLText.isAuthority(authority) else { throw .badPlace(Self.form) }
        self.isSecure = isSecure
        self.user = user
        self.authority = authority.lowercased()
        path = try URLText.path(parts)
    }

    private static let form = "webdavs://USER@HOST:PORT/PATH"

    /// The URL in the form that is stored and shown.
    var text: String {
        let user = user.map { "\(PercentEncoding.encode($0))@" } ?? ""
        return "webdav\(isSecure ? "s" : "")://\(user)\(authority)\(encodedPath)"
    }

    /// Scheme, host, and the port if it is given.
    var server: String { "webdav\(isSecure ? "s" : "")://\(authority)" }

    /// The percent-encoded path, which begins with "/" if it is not empty.
    var encodedPath: String {
        path.isEmpty ? "" : "/\(PercentEncoding.encode(path, keepsSlashes: true))"
    }

    /// The URL for requests, without "/" at its end.
    var http: String { "http\(isSecure ? "s" : "")://\(authority)\(encodedPath)" }

    /// Whether requests stay on this machine.
    var isLocal: Bool {
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return host == "localhost" || host == "[::1"
            || (host.hasPrefix("127.") && host.allSatisfy { $0 == "." || $0.isNumber })
    }
}
