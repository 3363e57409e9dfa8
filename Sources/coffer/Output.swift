internal import CofferClient
internal import CofferSystem
internal import FoundationEssentials
internal import Glibc

/// What is printed: results to standard output, all else to standard error.
enum Output {
    /// Prints a line of the result; ends the program where that cannot be written, as what was asked for is lost.
    static func line(_ text: String) {
        if write(text + "\n", to: STDOUT_FILENO) { return }
        error(
            "coffer: The output could not be written: \(SystemError("write", code: errno, on: "standard output"))."
        )
        Glibc.exit(74)
    }

    /// Prints one line; others may have chosen the names in it.
    static func error(_ text: String) {
        write(visible(text) + "\n", to: STDERR_FILENO)
    }

    /// Prints a value as JSON; on one line where others follow.
    static func json(_ value: some Encodable, onOneLine: Bool = false) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if !onOneLine { encoder.outputFormatting.insert(.prettyPrinted) }
        line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// Writes all of a text; false where that cannot be, with errno as write(2) left it.
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

    /// A word as a shell takes it for one.
    static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
                true
            default: "_@%+=:,./-".utf8.contains(byte)
            }
        }
        if plain, !word.isEmpty { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
            + "'"
    }

    /// Bytes for people: “12.3 MB”.
    static func bytes(_ count: Int64) -> String { ByteText.of(count) }

    /// “1 file”, “2 files”.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// The day of a time in seconds since 1970, in UTC: “2026-03-01”.
    static func day(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601.year().month().day())
    }

    /// A moment, as people here write it but for the order: the day, and the time of the day.
    static func moment(_ seconds: Int64) -> String {
        let format = Date.ISO8601FormatStyle(timeZone: .current).year().month().day()
            .dateTimeSeparator(.space).time(includingFractionalSeconds: false)
        return Date(timeIntervalSince1970: Double(seconds)).formatted(format)
    }

    /// A text with numbers for what a terminal would obey: control characters, and those that turn the direction of
    /// writing.
    ///
    /// Names of files may have any of them, and in a shared vault others choose names.
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

    /// Characters by which the direction of writing turns.
    private static let turning: Set<UInt32> = [
        0x061C, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069,
    ]

    /// Rows below headings, in columns that are as wide as they need to be.
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

    /// A figure for people: “1234”, “12.3”, “0.12”.
    static func figure(_ value: Double) -> String {
        guard value.magnitude < 1e15 else { return "\(value)" }
        if value >= 99.95 { return "\(Int(value.rounded()))" }
        let hundredths = Int((value * 100).rounded())
        if hundredths < 100 { return "0.\(hundredths < 10 ? "0" : "")\(hundredths)" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
