/// Percent-encoding (RFC 3986): every byte but the unreserved ones.
package enum PercentEncoding {
    private static let percent = UInt8(ascii: "%")

    /// Encodes a text; "/" stays where it separates segments.
    package static func encode(_ text: String, keepsSlashes: Bool = false) -> String {
        String(decoding: encode(Array(text.utf8), keepsSlashes: keepsSlashes), as: UTF8.self)
    }

    /// Encodes bytes, as of a file name; "/" stays where it separates segments.
    package static func encode(_ bytes: [UInt8], keepsSlashes: Bool = false) -> [UInt8] {
        bytes.flatMap { byte -> [UInt8] in
            if isUnreserved(byte) || keepsSlashes && byte == UInt8(ascii: "/") { return [byte] }
            let digits = String(byte, radix: 16, uppercase: true)
            return Array("%\(byte < 16 ? "0" : "")\(digits)".utf8)
        }
    }

    /// Decodes a text; nil if two digits do not follow a "%", or the bytes are no UTF-8.
    ///
    /// - Parameter plusIsSpace: As in forms, and in the listings of S3.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        decode(Array(text.utf8), plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Decodes bytes; nil if two digits do not follow a "%".
    package static func decode(_ text: [UInt8], plusIsSpace: Bool = false) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            guard byte == percent else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy(isHexadecimal),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// Whether a byte stands for itself.
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// Whether a byte is a hexadecimal digit.
    package static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}
