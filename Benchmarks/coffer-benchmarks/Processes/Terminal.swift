internal import Glibc

/// Prints to the user, without buffering.
enum Terminal {
    /// Prints a line to standard error.
    static func note(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = write(2, bytes, bytes.count)
    }

    /// Prints a line to standard output.
    static func line(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }

    /// Pads a text with spaces to a width.
    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
