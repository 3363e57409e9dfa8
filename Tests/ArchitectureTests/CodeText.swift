/// Removes comments and the text of strings from Swift, so that a rule sees only code.
///
/// Interpolations in strings are code, and stay. Regular expression literals are not recognized.
struct CodeText {
    // Bytes, because this reads every file of the project, and characters take ten times as long.
    private let text: [UInt8]
    private var index = 0
    private var result: [UInt8] = []

    /// The text with a space for each byte that is not code; lines stay where they are.
    static func code(of text: String) -> String {
        var scanner = CodeText(text)
        scanner.scanCode(until: nil)
        return String(decoding: scanner.result, as: UTF8.self)
    }

    private static let newline = UInt8(ascii: "\n")
    private static let slash = UInt8(ascii: "/")
    private static let quote = UInt8(ascii: "\"")
    private static let pound = UInt8(ascii: "#")
    private static let opening = UInt8(ascii: "(")
    private static let closing = UInt8(ascii: ")")
    private static let threeQuotes = [quote, quote, quote]
    private static let lineComment = Array("//".utf8)
    private static let commentBegin = Array("/*".utf8)
    private static let commentEnd = Array("*/".utf8)

    private init(_ text: String) {
        self.text = Array(text.utf8)
        result.reserveCapacity(self.text.count)
    }

    /// Scans code up to the parenthesis that ends an interpolation, or to the end.
    private mutating func scanCode(until end: UInt8?) {
        var depth = 0
        while index < text.count {
            let byte = text[index]
            if let end, byte == end, depth == 0 { return }
            switch byte {
            case Self.slash where sees(Self.lineComment):
                while index < text.count, text[index] != Self.newline { hide() }
            case Self.slash where sees(Self.commentBegin): scanBlockComment()
            case Self.quote: scanString()
            case Self.pound where rawStringBegins: scanString()
            default:
                if byte == Self.opening { depth += 1 }
                if byte == Self.closing { depth -= 1 }
                keep()
            }
        }
    }

    private mutating func scanBlockComment() {
        var depth = 0
        repeat {
            if sees(Self.commentBegin) {
                depth += 1
                hide()
            } else if sees(Self.commentEnd) {
                depth -= 1
                hide()
            }
            hide()
        } while depth > 0 && index < text.count
    }

    private mutating func scanString() {
        var pounds: [UInt8] = []
        while index < text.count, text[index] == Self.pound {
            pounds.append(Self.pound)
            hide()
        }
        let quote = [UInt8](repeating: Self.quote, count: sees(Self.threeQuotes) ? 3 : 1)
        for _ in quote { keep() }
        let end = quote + pounds
        let escape = [UInt8(ascii: "\\")] + pounds
        let interpolation = escape + [Self.opening]
        while index < text.count {
            if sees(end) {
                for _ in quote { keep() }
                for _ in pounds { hide() }
                return
            }
            if sees(interpolation) {
                for _ in interpolation { hide() }
                scanCode(until: Self.closing)
                if index < text.count { hide() }
            } else if sees(escape) {
                for _ in escape { hide() }
                if index < text.count { hide() }
            } else if quote.count == 1, text[index] == Self.newline {
                return
            } else {
                hide()
            }
        }
    }

    /// Whether a quote follows the pound signs at this place.
    private var rawStringBegins: Bool {
        text[index...].first { $0 != Self.pound } == Self.quote
    }

    private func sees(_ token: [UInt8]) -> Bool {
        var position = index
        for byte in token {
            guard position < text.count, text[position] == byte else { return false }
            position += 1
        }
        return true
    }

    private mutating func keep() {
        result.append(text[index])
        index += 1
    }

    private mutating func hide() {
        result.append(text[index] == Self.newline ? Self.newline : UInt8(ascii: " "))
        index += 1
    }
}
