internal import CFilesystemCalls

/// The contents of the crash writer's files, as a function of file, generation and offset.
///
/// A page of 4,096 bytes begins with its generation (eight bytes, least significant first); the rest are
/// words that depend on the file's number, the generation and the page. So a page itself proves of which
/// file, generation and place it is, and a mixture of two generations matches neither.
enum DurableContent {
    static let pageSize = 4096

    /// The bytes of one whole page.
    static func page(file: UInt64, generation: UInt64, page: Int) -> [UInt8] {
        var words = [UInt64](repeating: 0, count: pageSize / 8)
        fill_page(&words, file, generation, UInt64(page))
        return words.withUnsafeBytes { Array($0) }
    }

    /// The bytes from `start` up to `end`, of one generation throughout.
    static func bytes(file: UInt64, generation: UInt64, from start: Int, to end: Int) -> [UInt8] {
        guard start < end else { return [] }
        let first = start / pageSize
        let last = (end - 1) / pageSize
        let whole = (first...last).flatMap { page(file: file, generation: generation, page: $0) }
        return Array(whole[(start - first * pageSize)..<(end - first * pageSize)])
    }
}
