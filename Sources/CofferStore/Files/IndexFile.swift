internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// An open file of an index, for one connection of SQLite: plaintext for SQLite, sealed on disk.
protocol IndexFile: AnyObject {
    /// The connection's, which decide what happens if a page is not in memory.
    var absences: PageAbsences { get set }
    /// Reads bytes; stops at the end of the file.
    ///
    /// - Returns: The number of bytes read.
    func read(_ buffer: inout MutableRawSpan, at offset: Int) throws(FileSystemError) -> Int
    func write(_ bytes: RawSpan, at offset: Int) throws(FileSystemError)
    func truncate(to size: Int) throws(FileSystemError)
    func sync() throws(FileSystemError)
    func size() throws(FileSystemError) -> Int
}

/// The database itself: a sequence of sealed pages.
final class IndexDatabaseFile: IndexFile {
    private let file: any StorageFile
    private let files: IndexFiles
    private let sealer: PageSealer
    var absences = PageAbsences()
    private var page = [UInt8](repeating: 0, count: IndexPageLayout.pageByteCount)

    init(_ file: any StorageFile, of files: IndexFiles) {
        self.file = file
        self.files = files
        sealer = files.makeSealer()
    }

    func read(_ buffer: inout MutableRawSpan, at offset: Int) throws(FileSystemError) -> Int {
        let start = offset / IndexPageLayout.pageByteCount * IndexPageLayout.pageByteCount
        guard offset + buffer.byteCount <= start + IndexPageLayout.pageByteCount else {
            throw .damaged(place: "the page size of the index")
        }
        do throws(FileSystemError) {
            guard try readPage(at: start) else { return 0 }
        } catch {
            // When SQLite opens the database, it reads the file's header before the log. If a power cut tore
            // page 1 during a checkpoint, the log still has that page; zeros mean "not known yet".
            if case .damaged = error, start == 0, buffer.byteCount < page.count { return 0 }
            throw error
        }
        let place = offset - start
        let page = page
        unsafe buffer.copyBytes(from: page.span.bytes.extracting(place..<place + buffer.byteCount))
        return buffer.byteCount
    }

    /// Fills `page`; false at the end of the file.
    private func readPage(at start: Int) throws(FileSystemError) -> Bool {
        let (file, absences, pace) = (file, absences, files.pace)
        let count = try page.withMutableRawSpan { (bytes: inout MutableRawSpan) throws(FileSystemError) in
            try absences.read(file, into: &bytes, at: start, pace)
        }
        if count == 0 { return false }
        do throws(CryptoError) {
            guard count == page.count else { throw .authenticationFailed }
            try sealer.open(&page, in: .database, at: start)
        } catch {
            let place = "page \(start / IndexPageLayout.pageByteCount + 1) of the index"
            files.noteDamage(place)
            throw .damaged(place: place)
        }
        return true
    }

    func write(_ bytes: RawSpan, at offset: Int) throws(FileSystemError) {
        guard offset % IndexPageLayout.pageByteCount == 0, bytes.byteCount == page.count else {
            throw .damaged(place: "the page size of the index")
        }
        page.withMutableRawSpan { sealer.seal(bytes, into: &$0, in: .database, at: offset) }
        let page = page
        do throws(SystemError) { try unsafe file.write(page.span.bytes, at: offset) } catch {
            throw FileSystemError(error)
        }
    }

    func truncate(to size: Int) throws(FileSystemError) {
        do throws(SystemError) { try file.truncate(to: size) } catch { throw FileSystemError(error) }
    }

    func sync() throws(FileSystemError) {
        do throws(SystemError) { try file.dataSync() } catch { throw FileSystemError(error) }
    }

    func size() throws(FileSystemError) -> Int {
        do throws(SystemError) { return try file.size() } catch { throw FileSystemError(error) }
    }
}
