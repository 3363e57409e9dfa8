internal import CofferClient
internal import CofferSystem
internal import Glibc

/// Short texts that people hand over as files.
enum TextFile {
    private static let byteCountMax = 1 << 20

    /// The text of a file; “-” is standard input.
    static func read(_ path: String) throws -> String {
        guard path == "-" else {
            return String(decoding: try WholeFile.read(path, limit: byteCountMax), as: UTF8.self)
        }
        var text = ""
        while let line = readLine(strippingNewline: false), text.utf8.count < byteCountMax { text += line }
        return text
    }
}
