internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// Scans the log of an index before SQLite opens it.
///
/// SQLite takes the first frame that fails to verify for the end of the log, as after a crash. Frames of the
/// same log after it mean that something else may have happened, which must be reported to the user.
enum IndexLogScan {
    private typealias Layout = IndexPageLayout
    /// The place of the two salts in the log's header and in a frame's.
    private static let saltRange = 16..<24
    private static let frameSaltOffset = 8

    /// Counts the frames after the first damaged one that belong to the same log.
    ///
    /// - Throws: `.damaged` for a header that no log of an index has.
    static func countDroppedFrames(_ files: IndexFiles) throws(FileSystemError) -> Int {
        let file: any StorageFile
        var header = [UInt8](repeating: 0, count: Layout.logHeaderByteCount)
        do throws(SystemError) {
            guard try files.directory.contains(IndexFiles.logName) else { return 0 }
            file = try files.directory.open(IndexFiles.logName, create: false)
            let read = try header.withMutableRawSpan { (bytes: inout MutableRawSpan) throws(SystemError) in
                try file.read(into: &bytes, at: 0)
            }
            guard read == header.count else { return 0 }
        } catch {
            throw FileSystemError(error)
        }
        try IndexLogHeader.check(header)
        do throws(SystemError) {
            return try count(file, salts: Array(header[saltRange]), files.makeSealer())
        } catch {
            throw FileSystemError(error)
        }
    }

    private static func count(
        _ file: any StorageFile, salts: [UInt8], _ sealer: PageSealer
    ) throws(SystemError) -> Int {
        var offset = Layout.logHeaderByteCount
        var isDamaged = false
        var dropped = 0
        var frame = [UInt8](repeating: 0, count: Layout.frameByteCount)
        while true {
            let read = try frame.withMutableRawSpan { (bytes: inout MutableRawSpan) throws(SystemError) in
                try file.read(into: &bytes, at: offset)
            }
            guard read == frame.count else { return dropped }
            do throws(CryptoError) {
                try sealer.open(&frame, in: .log, at: offset)
                // Frames with other salts are left over from before the log last restarted.
                guard Array(frame[frameSaltOffset..<frameSaltOffset + 8]) == salts else { return dropped }
                if isDamaged { dropped += 1 }
            } catch {
                isDamaged = true
            }
            offset += Layout.frameByteCount
        }
    }
}
