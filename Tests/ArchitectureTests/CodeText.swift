/// Removes comments and the text of strings from Swift, so that a rule sees only code.
///
/// Interpolations in strings are code, and stay. Regular expression literals are not recognized.
struct CodeText {
    private let text: [Character]
    private var index = 0
    private var result = ""

    /// The text with a space for each character that is not code; lines stay where they are.
    static func code(of text: String) -> String {
        var scanner = CodeText(text)
        scanner.scanCode(until: nil)
        return scanner.result
    }

    private init(_ text: String) {
        self.text = Array(text)
    }

    /// Scans code up to the parenthesis that ends an interpolation, or to the end.
    private mutating func scanCode(until end: Character?) {
        var depth = 0
        while index < text.count {
            let character = text[index]
            if let end, character == end, depth == 0 { return }
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if sees("//") {
                while index < text.count, text[index] != "\n" { hide() }
            } else if sees("/*") {
                scanBlockComment()
            } else if character == "\"" || (character == "#" && rawStringBegins) {
                scanString()
            } else {
                keep()
            }
        }
    }

    private mutating func scanBlockComment() {
        var depth = 0
        repeat {
            if sees("/*") {
                depth += 1
                hide()
            } else if sees("*/") {
                depth -= 1
                hide()
            }
            hide()
        } while depth > 0 && index < text.count
    }

    private mutating func scanString() {
        var pounds = ""
        while index < text.count, text[index] == "#" {
            pounds += "#"
            hide()
        }
        let quote = sees("\"\"\"") ? "\"\"\"" : "\""
        for _ in quote { keep() }
        let interpolation = "\\" + pounds + "("
        let escape = "\\" + pounds
        while index < text.count {
            if sees(quote + pounds) {
                for _ in quote { keep() }
                for _ in pounds { hide() }
                return
            }
            if sees(interpolation) {
                for _ in interpolation { hide() }
                scanCode(until: ")")
                if index < text.count { hide() }
            } else if sees(escape) {
                for _ in escape { hide() }
                if index < text.count { hide() }
            } else if quote.count == 1, text[index] == "\n" {
                return
            } else {
                hide()
            }
        }
    }

    /// Whether a quote follows the pound signs at this place.
    private var rawStringBegins: Bool {
        text[index...].first { $0 != "#" } == "\""
    }

    private func sees(_ token: String) -> Bool {
        var position = index
        for character in token {
            guard position < text.count, text[position] == character else { return false }
            position += 1
        }
        return true
    }

    private mutating func keep() {
        result.append(text[index])
        index += 1
    }

    private mutating func hide() {
        result.append(text[index] == "\n" ? "\n" : " ")
        index += 1
    }
}
