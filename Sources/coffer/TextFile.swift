internal import CofferClient
internal import CofferSystem
internal import Glibc

/// Reads short texts from files.
enum TextFile {
    private static let byteCountMax = 1 << 20

    /// Reads the text of a file; “-” is standard input.
    static func read(_ path: String) throws -> String {
        guard path == "-" else {
            return String(decoding: try WholeFile.read(path, limit: byteCountMax), as: UTF8.self)
        }
        var text = ""
        while let line = readLine(strippingNewline: false), text.utf8.count < byteCountMax { text += line }
        return text
    }
}
