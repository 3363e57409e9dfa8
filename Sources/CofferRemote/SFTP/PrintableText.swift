/// Text of other programs and machines, made fit for a terminal and a log.
enum PrintableText {
    private static let byteCountMax = 300

    /// One line of at most some hundred bytes, in which spaces stand for control characters, also for those of C1
    /// (U+0080 to U+009F) and those that change the direction of text.
    static func of(_ bytes: some Collection<UInt8>) -> String {
        let text = String(decoding: bytes.prefix(byteCountMax), as: UTF8.self)
        let scalars = text.unicodeScalars.map { isPrintable($0) ? $0 : " " }
        return scalars.reduce(into: "") { $0.unicodeScalars.append($1) }
            .split(separator: " ").joined(separator: " ")
    }

    /// Whether a text of a URL can be shown as it is.
    static func hasNoControls(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.allSatisfy(isPrintable)
    }

    private static func isPrintable(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: true
        }
    }
}
