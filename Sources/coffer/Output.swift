internal import CofferClient
internal import CofferSystem
internal import FoundationEssentials
internal import Glibc

/// Prints results to standard output, and everything else to standard error.
enum Output {
    /// Prints a line of the result; exits with 74 if it cannot be written, because the result would be
    /// incomplete.
    static func line(_ text: String) {
        if write(text + "\n", to: STDOUT_FILENO) { return }
        error(
            "coffer: The output could not be written: \(SystemError("write", code: errno, on: "standard output"))."
        )
        Glibc.exit(74)
    }

    /// Prints one line to standard error, and makes control characters visible, since others may choose names
    /// in it.
    static func error(_ text: String) {
        write(visible(text) + "\n", to: STDERR_FILENO)
    }

    /// Asks at the terminal, as `error` prints; the answer follows on the same line.
    static func ask(_ question: String) { write(visible(question) + " ", to: STDERR_FILENO) }

    /// Prints a value as JSON; on one line if more values follow.
    static func json(_ value: some Encodable, onOneLine: Bool = false) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if !onOneLine { encoder.outputFormatting.insert(.prettyPrinted) }
        line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Writes all of a text; on failure returns false with the errno of write(2).
    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Formats a number of bytes: “12.3 MB”.
    static func bytes(_ count: Int64) -> String { ByteText.of(count) }

    /// Formats a number with a noun: “1 file”, “2 files”.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// Formats the UTC date of a time in seconds since 1970: “2026-03-01”.
    static func day(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601.year().month().day())
    }

    /// Formats the local date and time of a time in seconds since 1970: “2026-03-01 12:34:56”.
    static func moment(_ seconds: Int64) -> String {
        let format = Date.ISO8601FormatStyle(timeZone: .current).year().month().day()
            .dateTimeSeparator(.space).time(includingFractionalSeconds: false)
        return Date(timeIntervalSince1970: Double(seconds)).formatted(format)
    }

    /// Replaces characters that control a terminal by their numbers: control characters, and bidirectional
    /// ones.
    ///
    /// Names of files may contain any of them, and in a shared vault other people choose names.
    static func visible(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: shown += number(scalar)
            case .format where turning.contains(scalar.value): shown += number(scalar)
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    private static func number(_ scalar: Unicode.Scalar) -> String {
        "\\u{\(String(scalar.value, radix: 16))}"
    }

    /// Characters that change the direction of text.
    private static let turning: Set<UInt32> = [
        0x061C, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069,
    ]

    /// Prints rows below headings, in columns as wide as their contents.
    static func table(_ headings: [String], _ rows: [[String]]) {
        let rows = rows.map { $0.map(visible) }
        let widths = headings.indices.map { column in
            ([headings] + rows).map { TextWidth.of($0[column]) }.max() ?? 0
        }
        for row in [headings] + rows {
            let cells = row.indices.map { column in
                column == row.count - 1
                    ? row[column]
                    : row[column] + String(repeating: " ", count: widths[column] - TextWidth.of(row[column]))
            }
            var line = cells.joined(separator: "  ")
            while line.hasSuffix(" ") { line.removeLast() }
            Output.line(line)
        }
    }

    /// Formats a figure: “1234”, “12.3”, “0.12”.
    static func figure(_ value: Double) -> String {
        guard value.magnitude < 1e15 else { return "\(value)" }
        if value >= 99.95 { return "\(Int(value.rounded()))" }
        let hundredths = Int((value * 100).rounded())
        if hundredths < 100 { return "0.\(hundredths < 10 ? "0" : "")\(hundredths)" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
