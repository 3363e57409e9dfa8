internal import Glibc

/// What the user sees.
enum Terminal {
    /// A line on the standard error, at once.
    static func note(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = write(2, bytes, bytes.count)
    }

    /// A line on the standard output, at once.
    static func line(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }

    /// With blanks up to a width.
    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
