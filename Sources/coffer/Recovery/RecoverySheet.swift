internal import CofferClient
internal import CofferTrust

/// What a person prints and keeps: the words of a recovery key, a QR code of them, and what to do with them.
struct RecoverySheet {
    /// The number of words in a row.
    private static let columnCount = 4

    private let words: [String]
    private let name: String
    private let profile: String
    private let key: String
    private let day: String

    /// - Parameter report: The profile that the key is for.
    init(_ key: RecoveryKey, id: String, of report: RecoveryReport, on day: String) {
        words = key.words
        name = report.name
        profile = report.profile
        self.key = KeyName.short(id)
        self.day = day
    }

    private static let title = "Coffer recovery sheet"
    private static let steps = [
        "To come back on a new machine, install Coffer, get your profile backup, and run:",
        "    coffer recovery restore BACKUP",
        "To replace a forgotten passphrase on the old machine, run:",
        "    coffer recovery passphrase",
        "Both ask for the words. The first four letters of each word are enough.",
        "Anyone with this sheet and a backup can read everything. Keep the two apart.",
        "If somebody else may have seen the sheet, run:",
        "    coffer recovery revoke KEY",
        "My backup is kept here:",
    ]

    private var facts: [(String, String)] {
        [("Name", name), ("Profile", profile), ("Key", key), ("Made", day)]
    }

    private var advice: [String] { Self.steps.map { $0.replacing("KEY", with: key) } }

    /// The text of the QR code: the words in capitals, which make a smaller code.
    private var code: QRCode? { QRCode(words.joined(separator: " ").uppercased()) }

    /// The sheet as lines of text.
    ///
    /// - Parameter colors: Whether the text is for a terminal.
    func lines(colors: Bool) -> [String] {
        var lines = [Self.title, ""]
        lines += facts.map { label, value in label.padded(to: 9) + Output.visible(value) }
        lines.append("")
        for row in stride(from: 0, to: words.count, by: Self.columnCount) {
            let cells = (row..<row + Self.columnCount).map { index in
                "\(index < 9 ? " " : "")\(index + 1) \(words[index].padded(to: 8))"
            }
            lines.append(("  " + cells.joined(separator: "   ")).trimmedAtEnd)
        }
        return lines + [""] + advice + [""] + (code?.lines(colors: colors) ?? [])
    }

    /// The sheet as a page of paper: an SVG image of the size A4.
    var svg: String {
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="210mm" height="297mm" viewBox="0 0 210 297">
            <rect width="210" height="297" fill="white"/>
            <g font-family="sans-serif" font-size="4.5" fill="black">
            \(Self.text(Self.title, 20, 28, size: 8))
            """
        ]
        for (row, fact) in facts.enumerated() {
            parts.append(Self.text(fact.0, 20, 40 + Double(row) * 7))
            parts.append(Self.text(Output.visible(fact.1), 42, 40 + Double(row) * 7))
        }
        for (index, word) in words.enumerated() {
            let (column, row) = (Double(index % Self.columnCount), Double(index / Self.columnCount))
            let (x, y) = (20 + column * 43, 80 + row * 12)
            parts.append(Self.text("\(index + 1)", x, y, size: 4))
            parts.append(Self.text(word, x + 8, y, size: 6, family: "monospace"))
        }
        for (row, line) in advice.enumerated() {
            parts.append(Self.text(line, line.hasPrefix(" ") ? 28 : 20, 134 + Double(row) * 7.5))
        }
        if let code {
            let scale = 70 / Double(code.width)
            parts.append(#"<path transform="translate(70 213) scale(\#(scale))" d="\#(code.path)"/>"#)
        }
        return (parts + ["</g>", "</svg>", ""]).joined(separator: "\n")
    }

    private static func text(
        _ text: String, _ x: Double, _ y: Double, size: Double = 4.5, family: String = "sans-serif"
    ) -> String {
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        return #"<text x="\#(x)" y="\#(y)" font-size="\#(size)" font-family="\#(family)">\#(escaped)</text>"#
    }
}

/// How commands name recovery keys.
enum KeyName {
    /// The beginning of a key's id, which people read and type.
    static func short(_ id: String) -> String { String(id.prefix(8)) }
}

extension String {
    /// The text with blanks after it, up to a number of columns.
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }

    /// The text without blanks at its end.
    fileprivate var trimmedAtEnd: String {
        var text = self
        while text.hasSuffix(" ") { text.removeLast() }
        return text
    }
}
