internal import CofferSystem

/// The URL of a directory of an SFTP server: "sftp://USER@HOST:PORT/PATH", or "sftp:HOST:PATH".
///
/// HOST may be an alias of ~/.ssh/config. A path that does not begin with "/", or that begins with "/~/" in the
/// first form, is below the directory that the server gives the user.
package struct SFTPURL: Hashable, Sendable {
    /// Nil for the one of ssh's configuration.
    let user: String?
    /// Without the brackets of an IPv6 address.
    let host: String
    /// Nil for the one of ssh's configuration.
    let port: UInt16?
    /// Absolute, or below the user's directory; without "/" at its end, but for the root.
    let path: String
    private let isShort: Bool

    /// Parses what follows "sftp:".
    init(_ rest: Substring) throws(RemoteURL.Mistake) {
        isShort = !rest.hasPrefix("//")
        if isShort {
            let host = rest.prefix { $0 != ":" }
            guard host.endIndex != rest.endIndex else { throw .badPlace(Self.form) }
            // "me:secret@host:path" has the form of a host and a path, but is meant otherwise.
            let first = rest[rest.index(after: host.endIndex)...].prefix { $0 != "/" }
            if !host.contains("@"), first.drop(while: { $0 != "@" }).contains(":") { throw .hasCredentials }
            (user, self.host) = try Self.destination(host)
            port = nil
            path = try Self.checked(rest[rest.index(after: host.endIndex)...])
            return
        }
        guard !rest.contains("?"), !rest.contains("#") else { throw .hasCredentials }
        let inner = rest.dropFirst(2)
        let authority = inner.prefix { $0 != "/" }
        let address =
            authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard URLText.isAuthority(address) else { throw .badPlace(Self.form) }
        var host = address
        var port: UInt16?
        if let colon = address.lastIndex(of: ":"), address.last != "]" {
            (host, port) = (address[..<colon], UInt16(address[address.index(after: colon)...]))
            guard let port, port > 0 else { throw .badPlace(Self.form) }
        }
        if host.hasPrefix("[") { host = host.dropFirst().dropLast() }
        self.host = host.lowercased()
        self.port = port
        user =
            authority.lastIndex(of: "@") == nil
            ? nil : try Self.destination(authority[..<address.startIndex] + "host").user
        guard !self.host.hasPrefix("-") else { throw .badPlace(Self.form) }
        var parts = inner.dropFirst(authority.count).split(separator: "/", omittingEmptySubsequences: false)
        if !parts.isEmpty { parts.removeFirst() }
        while parts.last == "" { parts.removeLast() }
        let isBelowHome = parts.first == "~"
        let decoded = try URLText.path(parts.dropFirst(isBelowHome ? 1 : 0))
        guard PrintableText.hasNoControls(decoded) else { throw .badEncoding }
        path = isBelowHome ? (decoded.isEmpty ? "." : decoded) : "/\(decoded)"
    }

    private static let form = "sftp://USER@HOST:PORT/PATH, or sftp:HOST:PATH"

    /// Takes "USER@HOST" apart.
    ///
    /// The letters are few, as ssh may put both into commands of its configuration, which a shell reads.
    private static func destination(
        _ text: Substring
    ) throws(RemoteURL.Mistake) -> (user: String?, host: String) {
        let at = text.lastIndex(of: "@")
        let host = at.map { text[text.index(after: $0)...] } ?? text
        guard isWord(host, ".-_") else { throw .badPlace(form) }
        guard let at else { return (nil, String(host)) }
        if text[..<at].contains(":") { throw .hasCredentials }
        guard isWord(text[..<at], ".-_+@") else { throw .badPlace(form) }
        return (String(text[..<at]), String(host))
    }

    private static func isWord(_ text: Substring, _ others: String) -> Bool {
        !text.isEmpty && !text.hasPrefix("-")
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                        || others.unicodeScalars.contains(scalar))
            }
    }

    /// A path as it is, without "/" at its end.
    private static func checked(_ text: Substring) throws(RemoteURL.Mistake) -> String {
        guard PrintableText.hasNoControls(text) else { throw .badEncoding }
        var parts = text.split(separator: "/", omittingEmptySubsequences: false)
        while parts.count > 1, parts.last == "" { parts.removeLast() }
        let names = text.hasPrefix("/") ? parts.dropFirst() : parts[...]
        guard names.allSatisfy({ !["", "..", "."].contains($0) }) || text.isEmpty || parts == [""] else {
            throw .badSegment
        }
        if text.isEmpty { return "." }
        return parts == [""] ? "/" : parts.joined(separator: "/")
    }

    /// The URL in the form that is stored and shown.
    var text: String {
        let shortUser = user.map { "\($0)@" } ?? ""
        if isShort { return "sftp:\(shortUser)\(host):\(path == "." ? "" : path)" }
        let end = path == "." ? "~" : path.hasPrefix("/") ? String(path.dropFirst()) : "~/\(path)"
        let authority = (host.contains(":") ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
        let encoded = PercentEncoding.encode(end, keepsSlashes: true)
        return "sftp://\(shortUser)\(authority)\(encoded.isEmpty ? "" : "/\(encoded)")"
    }

    /// What a user adds to "ssh" to reach the host.
    var arguments: String {
        (port.map { "-p \($0) " } ?? "") + (user.map { "\($0)@" } ?? "") + host
    }
}
