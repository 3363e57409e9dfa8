internal import CofferSystem

/// Parts of the URLs of servers, as users write them.
enum URLText {
    /// Whether a text is a host, with or without a port: a name, an IPv4 address, or an IPv6 address in brackets.
    static func isAuthority(_ text: Substring) -> Bool {
        var (host, port) = (text, Substring("0"))
        if let colon = text.lastIndex(of: ":"), text.last != "]" {
            (host, port) = (text[..<colon], text[text.index(after: colon)...])
        }
        guard !port.isEmpty, UInt16(port) != nil, port.first != "+" else { return false }
        if host.hasPrefix("["), host.hasSuffix("]") {
            return host.utf8.count > 2
                && host.dropFirst().dropLast().utf8.allSatisfy {
                    isHexadecimal($0) || $0 == UInt8(ascii: ":")
                }
        }
        return !host.isEmpty
            && host.utf8.allSatisfy { byte in
                PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
            }
    }

    /// Whether a text is "http://" or "https://" and a host.
    static func isServer(_ text: String) -> Bool {
        guard let scheme = ["https://", "http://"].first(where: { text.hasPrefix($0) }) else { return false }
        return isAuthority(text.dropFirst(scheme.utf8.count))
    }

    /// A decoded path of percent-encoded segments; none of them may be empty, "." or "..".
    static func path(_ segments: some Sequence<Substring>) throws(RemoteURL.Mistake) -> String {
        var decoded: [String] = []
        for segment in segments {
            guard let text = PercentEncoding.decode(segment), !text.utf8.contains(where: { $0 < 0x20 }) else {
                throw .badEncoding
            }
            guard !["", ".", ".."].contains(text), !text.contains("/") else { throw .badSegment }
            decoded.append(text)
        }
        return decoded.joined(separator: "/")
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        Character(UnicodeScalar(byte)).isHexDigit && byte < 0x80
    }
}
