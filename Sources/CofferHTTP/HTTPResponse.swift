/// The answer of a server, whatever its status.
package struct HTTPResponse: Equatable, Sendable {
    /// The status code, such as 200.
    package let status: Int
    /// The headers in their order; names are in lower case.
    package let headers: [HTTPHeader]
    /// The body, or the requested range of it; of an error, at most its first 64 KiB.
    package let body: [UInt8]

    package init(status: Int, headers: [HTTPHeader], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Whether the status says that the request has succeeded.
    package var isSuccess: Bool { (200..<300).contains(status) }

    /// The first header of a name, which is in lower case.
    package subscript(name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The value of Content-Length; nil if there is none, or it is no number.
    package var contentLength: Int? { self["content-length"].flatMap { Self.number($0) } }

    /// The parts of Content-Range (RFC 9110, section 14.4): "bytes 0-99/1234", "bytes */1234".
    package var contentRange: (range: Range<Int>?, size: Int?)? {
        guard let value = self["content-range"], value.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = value.dropFirst(6).split(separator: "/")
        guard parts.count == 2 else { return nil }
        let size = Self.number(parts[1])
        guard size != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" { return (nil, size) }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Self.number($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
        return (first..<last + 1, size)
    }

    /// A decimal number without a sign, of at most 15 digits.
    package static func number(_ text: some StringProtocol) -> Int? {
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}
