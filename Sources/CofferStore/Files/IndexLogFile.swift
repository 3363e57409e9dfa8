internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// The write-ahead log: SQLite's 32-byte header as it is, then frames, each sealed with its header.
///
/// SQLite writes a frame's header and its page separately; they are sealed together. The frames of a commit
/// are written with one call once the last one has arrived, as nothing reads them before.
final class IndexLogFile: IndexFile {
    private typealias Layout = IndexPageLayout

    private let file: any StorageFile
    private let files: IndexFiles
    private let sealer: PageSealer
    var absences = PageAbsences()
    private var frame = [UInt8](repeating: 0, count: Layout.frameByteCount)
    /// The header of a frame whose page has not arrived yet, and the frame's offset.
    private var waiting: (offset: Int, header: [UInt8])?
    /// Consecutive sealed frames that are not written yet, and the offset of the first.
    private var buffered: [UInt8] = []
    private var bufferedStart = 0
    /// The number of bytes from which frames are written before the commit's last one has arrived.
    private static let bufferedByteCountMax = 64 * Layout.frameByteCount
    /// The bytes of a frame's header with the size of the database, which only the last frame of a commit
    /// has.
    private static let commitMark = 4..<8
    /// The header of the log, until a frame is written after it.
    private var freshHeader: [UInt8]?

    init(_ file: any StorageFile, of files: IndexFiles) {
        self.file = file
        self.files = files
        sealer = files.makeSealer()
    }

    private static func frameStart(_ offset: Int) -> Int {
        (offset - Layout.logHeaderByteCount) / Layout.frameByteCount * Layout.frameByteCount
            + Layout.logHeaderByteCount
    }

    func read(_ buffer: inout MutableRawSpan, at offset: Int) throws(FileSystemError) -> Int {
        try writeRest()
        if offset < Layout.logHeaderByteCount { return try readHeader(&buffer, at: offset) }
        let start = Self.frameStart(offset)
        let place = offset - start
        guard place + buffer.byteCount <= Layout.frameByteCount else {
            throw .damaged(place: Self.describe(start))
        }
        switch try readFrame(at: start) {
        case .missing: return 0
        case .damaged where place != 0: throw .damaged(place: Self.describe(start))
        case .damaged, .authentic: break
        }
        let frame = frame
        unsafe buffer.copyBytes(from: frame.span.bytes.extracting(place..<place + buffer.byteCount))
        return buffer.byteCount
    }

    private func readHeader(_ buffer: inout MutableRawSpan, at offset: Int) throws(FileSystemError) -> Int {
        let count = try readRaw(&buffer, at: offset)
        guard offset == 0, buffer.byteCount == Layout.logHeaderByteCount else {
            throw .damaged(place: "the header of the index's log")
        }
        if count == buffer.byteCount { try IndexLogHeader.check(buffer.bytes.array) }
        return count
    }

    private func readRaw(_ buffer: inout MutableRawSpan, at offset: Int) throws(FileSystemError) -> Int {
        if let bytes = files.unwrittenLog(at: offset), bytes.count >= buffer.byteCount {
            unsafe buffer.copyBytes(from: bytes.span.bytes.extracting(0..<buffer.byteCount))
            return buffer.byteCount
        }
        return try absences.read(file, into: &buffer, at: offset, files.pace)
    }

    private enum FrameState { case authentic, damaged, missing }

    /// Fills `frame`; with zeros if it fails to open.
    ///
    /// When SQLite looks for the end of the log, it reads whole frames, and takes zeros for the end; so a log
    /// torn by a crash ends there. When SQLite wants the page of a frame that it knows, damage is an error.
    private func readFrame(at start: Int) throws(FileSystemError) -> FrameState {
        let count = try readRawFrame(at: start)
        guard count == frame.count else { return .missing }
        do throws(CryptoError) {
            try sealer.open(&frame, in: .log, at: start)
            return .authentic
        } catch {
            files.noteDamage(Self.describe(start))
            return .damaged
        }
    }

    private func readRawFrame(at start: Int) throws(FileSystemError) -> Int {
        var raw = [UInt8](repeating: 0, count: Layout.frameByteCount)
        let count = try raw.withMutableRawSpan { (bytes: inout MutableRawSpan) throws(FileSystemError) in
            try readRaw(&bytes, at: start)
        }
        frame = raw
        return count
    }

    private static func describe(_ start: Int) -> String {
        "frame \((start - Layout.logHeaderByteCount) / Layout.frameByteCount + 1) of the index's log"
    }

    func write(_ bytes: RawSpan, at offset: Int) throws(FileSystemError) {
        if offset < Layout.logHeaderByteCount {
            guard offset == 0, bytes.byteCount == Layout.logHeaderByteCount else {
                throw .damaged(place: "the header of the index's log")
            }
            try writeRest()
            freshHeader = bytes.array
            return try writeRaw(bytes.array, at: 0)
        }
        freshHeader = nil
        let start = Self.frameStart(offset)
        let place = offset - start
        guard place + bytes.byteCount <= Layout.frameByteCount else {
            throw .damaged(place: Self.describe(start))
        }
        if place == 0, bytes.byteCount == Layout.frameHeaderByteCount {
            if waiting != nil { try writeRest() }
            waiting = (start, bytes.array)
            return
        }
        if let header = waiting, header.offset == start, place == Layout.frameHeaderByteCount,
            bytes.byteCount == Layout.pageByteCount
        {
            waiting = nil
            frame.withMutableRawSpan { frame in
                unsafe frame.copyBytes(from: header.header.span.bytes)
                frame.copyBytes(from: bytes, at: place)
            }
            return try bufferFrame(start, isLast: header.header[Self.commitMark].contains { $0 != 0 })
        }
        try writeRest()
        try replace(bytes, at: place, inFrameAt: start)
    }

    /// Seals `frame`; writes it together with the buffered ones if it is the last of a commit.
    private func bufferFrame(_ start: Int, isLast: Bool) throws(FileSystemError) {
        if bufferedStart + buffered.count != start { try writeBuffered() }
        if buffered.isEmpty { bufferedStart = start }
        let place = buffered.count
        let frame = frame
        buffered.append(contentsOf: repeatElement(0, count: Layout.frameByteCount))
        buffered.withMutableRawSpan { buffered in
            var sealed = buffered._mutatingExtracting(place..<place + Layout.frameByteCount)
            unsafe sealer.seal(frame.span.bytes, into: &sealed, in: .log, at: start)
        }
        if isLast || buffered.count >= Self.bufferedByteCountMax { try writeBuffered() }
    }

    private func writeBuffered() throws(FileSystemError) {
        guard !buffered.isEmpty else { return }
        defer { buffered.removeAll(keepingCapacity: true) }
        try writeRaw(buffered, at: bufferedStart)
    }

    /// Writes the deferred frames.
    ///
    /// A header without a page replaces the header of a frame that was written before.
    private func writeRest() throws(FileSystemError) {
        try writeBuffered()
        guard let header = waiting else { return }
        waiting = nil
        try unsafe replace(header.header.span.bytes, at: 0, inFrameAt: header.offset)
    }

    private func replace(_ bytes: RawSpan, at place: Int, inFrameAt start: Int) throws(FileSystemError) {
        guard case .authentic = try readFrame(at: start) else { throw .damaged(place: Self.describe(start)) }
        frame.withMutableRawSpan { $0.copyBytes(from: bytes, at: place) }
        try bufferFrame(start, isLast: true)
    }

    private func writeRaw(_ bytes: [UInt8], at offset: Int) throws(FileSystemError) {
        do throws(SystemError) {
            try files.writeLog(bytes, to: file, at: offset)
        } catch {
            throw FileSystemError(error)
        }
    }

    func truncate(to size: Int) throws(FileSystemError) {
        waiting = nil
        buffered = []
        files.truncateUnwritten(to: size)
        do throws(SystemError) { try file.truncate(to: size) } catch { throw FileSystemError(error) }
    }

    func sync() throws(FileSystemError) {
        try writeRest()
        do throws(SystemError) {
            try files.writeUnwritten(to: file)
            try file.dataSync()
        } catch {
            // SQLite syncs the header of a new log in the middle of a commit, and would roll the commit back.
            if error.isNoSpace, let freshHeader { return files.keepHeader(freshHeader) }
            throw FileSystemError(error)
        }
    }

    func size() throws(FileSystemError) -> Int {
        try writeRest()
        do throws(SystemError) { return max(try file.size(), files.unwrittenEnd) } catch {
            throw FileSystemError(error)
        }
    }
}
