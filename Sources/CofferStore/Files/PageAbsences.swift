internal import CofferFormat
internal import CofferSystem

/// Whether one connection of SQLite waits for pages that are not in memory, and which one it did not wait for.
///
/// SQLite cannot pause a statement. So the statement fails, and `Database.check` throws `.pageAbsent`; whoever gets that
/// brings the page, without a lock, and tries again. A failed query leaves the transaction as it was.
final class PageAbsences {
    /// Whether reading a page that is not in memory fails.
    ///
    /// False once a statement has changed something: it could not be taken back.
    var areErrors = false
    private var page: AbsentPage?

    /// Reads a page of a file, or a frame of the log.
    ///
    /// - Returns: The number of bytes; fewer than wanted only at the end of the file.
    /// - Throws: `.pageAbsent`.
    func read(
        _ file: any StorageFile, into buffer: inout MutableRawSpan, at offset: Int, _ pace: DiskPace
    ) throws(FileSystemError) -> Int {
        let count: Int?
        do throws(SystemError) {
            if areErrors {
                count = try file.readAtHand(into: &buffer, at: offset)
            } else {
                let start = Clock.monotonic
                defer { pace.note(since: start) }
                count = try file.read(into: &buffer, at: offset)
            }
        } catch {
            throw FileSystemError(error)
        }
        if let count { return count }
        let absent = AbsentPage(of: file, at: offset, count: buffer.byteCount)
        page = absent
        throw .pageAbsent(absent)
    }

    /// The page that made the last statement fail, once.
    func take() -> AbsentPage? {
        defer { page = nil }
        return page
    }
}
