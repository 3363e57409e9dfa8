package import CofferFormat
package import CofferSystem

/// An open pack, for reading and writing without the vault's lock.
package final class PackFile: Sendable {
    static let pageByteCount = 4096
    /// EINVAL: a file system's answer to misaligned access.
    private static let invalidArgument: Int32 = 22

    /// `count` rounded up to whole pages.
    static func wholePages(_ count: Int) -> Int {
        (count + pageByteCount - 1) / pageByteCount * pageByteCount
    }

    private let file: any StorageFile
    private let name: String
    private let directory: any StorageDirectory
    /// The same file, opened past the page cache: not tried yet, not available, or open.
    private let direct = RankedMutex(DirectFile.untried, rank: .leaf)

    private enum DirectFile {
        case untried
        case missing
        case open(any StorageFile)
    }

    init(_ file: any StorageFile, named name: String, in directory: any StorageDirectory) {
        self.file = file
        self.name = name
        self.directory = directory
    }

    /// Writes the first bytes of a buffer, past the page cache and in whole pages if possible.
    ///
    /// - Parameter position: The beginning of a page.
    func writeDirectly(_ buffer: AlignedBuffer, count: Int, at position: Int) throws(FileSystemError) {
        if let file = directFile() {
            do throws(SystemError) {
                return try buffer.withBytes(0..<Self.wholePages(count)) { bytes throws(SystemError) in
                    try file.write(bytes, at: position)
                }
            } catch {
                guard error.code == Self.invalidArgument else { throw FileSystemError(error) }
                // A file system with larger pages reports that only now.
                direct.withLock { $0 = .missing }
            }
        }
        try buffer.withBytes(0..<count) { bytes throws(FileSystemError) in try write(bytes, at: position) }
    }

    /// Writes sealed bytes into space that was allocated for them.
    func write(_ bytes: RawSpan, at position: Int) throws(FileSystemError) {
        do throws(SystemError) { try file.write(bytes, at: position) } catch { throw FileSystemError(error) }
    }

    /// Reads sealed bytes.
    ///
    /// - Returns: The number of bytes read; less than requested if the pack was truncated.
    package func read(into buffer: inout MutableRawSpan, at position: Int) throws(FileSystemError) -> Int {
        do throws(SystemError) { return try file.read(into: &buffer, at: position) } catch {
            throw FileSystemError(error)
        }
    }

    /// Whether a read of sealed bytes would not wait for the disk.
    ///
    /// - Parameter buffer: Gets arbitrary bytes; has space for `count`.
    package func isAtHand(_ buffer: AlignedBuffer, from position: Int, count: Int) -> Bool {
        buffer.withMutableBytes(0..<count) { file.isAtHand(&$0, at: position) }
    }

    /// Reads a few sealed bytes past the page cache, which costs scattered reads more than it saves.
    ///
    /// - Parameters:
    ///   - buffer: Must have space for two pages more than `count` bytes.
    ///   - reads: How to wait for the disk.
    ///   - meanwhile: Runs once, while the disk works.
    /// - Returns: The offset of the bytes in the buffer; nil if the caller must read them the usual way.
    package func readScattered(
        into buffer: AlignedBuffer, from position: Int, count: Int, polling reads: PolledReads,
        meanwhile: () -> Void
    ) throws(FileSystemError) -> Int? {
        guard let file = directFile() else {
            meanwhile()
            return nil
        }
        return try readPages(into: buffer, at: 0, from: position, count: count) {
            bytes, start throws(SystemError) in
            try file.read(into: &bytes, at: start, polling: reads, meanwhile: meanwhile)
        }
    }

    /// Whether reads can go past the page cache.
    package var isDirect: Bool { directFile() != nil }

    /// Starts a read of the whole pages that contain a few sealed bytes, past the page cache.
    ///
    /// - Parameters:
    ///   - read: Gets the number of bytes read, or the error, from `flights`.
    ///   - buffer: Must have space for two pages more than `count` bytes.
    /// - Returns: The offset of the sealed bytes in the buffer; nil if the caller must read the usual way.
    package func start(
        _ read: any StartedRead, in flights: ReadsInFlight, into buffer: AlignedBuffer, from position: Int,
        count: Int
    ) -> Int? {
        guard let file = directFile() else { return nil }
        let start = position / Self.pageByteCount * Self.pageByteCount
        let end = Self.wholePages(position + count)
        guard file.start(read, in: flights, into: buffer, 0..<end - start, at: start) else { return nil }
        return position - start
    }

    /// Uses the page cache from now on if the result of a read says that the file system cannot do without:
    /// one with larger pages finds out only then.
    package func noteResult(_ result: Int) {
        if result == -Int(Self.invalidArgument) { direct.withLock { $0 = .missing } }
    }

    /// Reads the whole pages that contain `count` bytes.
    private func readPages(
        into buffer: AlignedBuffer, at place: Int, from position: Int, count: Int,
        _ read: (inout MutableRawSpan, Int) throws(SystemError) -> Int
    ) throws(FileSystemError) -> Int? {
        let start = position / Self.pageByteCount * Self.pageByteCount
        let end = Self.wholePages(position + count)
        do throws(SystemError) {
            let got = try buffer.withMutableBytes(place..<place + end - start) { bytes throws(SystemError) in
                try read(&bytes, start)
            }
            return got >= position + count - start ? position - start : nil
        } catch {
            if error.code == Self.invalidArgument { return nil }
            throw FileSystemError(error)
        }
    }

    /// Reads many sealed bytes, past the page cache if possible.
    ///
    /// - Parameter place: The earliest offset in the buffer, at the beginning of a page; there must be space
    ///   for two pages more than `count` bytes.
    /// - Returns: The offset of the bytes after `place`; nil if the pack has fewer bytes.
    package func fetch(
        into buffer: AlignedBuffer, at place: Int, from position: Int, count: Int
    ) throws(FileSystemError) -> Int? {
        if let file = directFile(),
            let skew = try readPages(
                into: buffer, at: place, from: position, count: count,
                { bytes, start throws(SystemError) in try file.read(into: &bytes, at: start) })
        {
            return skew
        }
        let got = try buffer.withMutableBytes(place..<place + count) { bytes throws(FileSystemError) in
            try read(into: &bytes, at: position)
        }
        return got == count ? 0 : nil
    }

    /// Reads a large extent to its final place, past the page cache if possible.
    ///
    /// - Parameters:
    ///   - place: The beginning of a page of the buffer, with space for whole pages.
    ///   - position: The position of the extent in the pack: the beginning of a page, if this device wrote
    ///     it.
    /// - Returns: The number of bytes read; less than requested if the pack was truncated.
    package func read(
        into buffer: AlignedBuffer, at place: Int, from position: Int, count: Int
    ) throws(FileSystemError) -> Int {
        if position % Self.pageByteCount == 0, let file = directFile(),
            try readPages(
                into: buffer, at: place, from: position, count: count,
                { bytes, start throws(SystemError) in try file.read(into: &bytes, at: start) }) != nil
        {
            return count
        }
        return try buffer.withMutableBytes(place..<place + count) { bytes throws(FileSystemError) in
            try read(into: &bytes, at: position)
        }
    }

    private func directFile() -> (any StorageFile)? {
        direct.withLock { state in
            switch state {
            case .open(let file): return file
            case .missing: return nil
            case .untried:
                guard let file = try? directory.openDirect(name) else {
                    state = .missing
                    return nil
                }
                state = .open(file)
                return file
            }
        }
    }

    func size() throws(FileSystemError) -> Int {
        do throws(SystemError) { return try file.size() } catch { throw FileSystemError(error) }
    }

    func allocatedByteCount() throws(FileSystemError) -> Int {
        do throws(SystemError) { return try file.allocatedByteCount() } catch { throw FileSystemError(error) }
    }

    /// Starts to write unsynced bytes to disk, without waiting.
    package func startWriteback() {
        file.startWriteback(at: 0, count: 0)
    }

    /// Returns the whole pages in a dead range to the disk, if the file system supports that.
    package func discard(at position: Int, count: Int) {
        let start = (position + 4095) & ~4095
        let end = (position + count) & ~4095
        guard end > start else { return }
        // A file system without holes keeps the bytes until the pack is compacted.
        try? file.punchHole(at: start, count: end - start)
    }

    func sync() throws(SystemError) {
        try file.dataSync()
    }
}

/// Files that a caller has taken over to sync.
package struct DirtyFiles: Sendable {
    let files: [PackFile]
    let directory: (any StorageDirectory)?

    /// Returns once all files are on disk.
    ///
    /// Call this without the vault's lock.
    package func sync() throws(FileSystemError) {
        do throws(SystemError) {
            for file in files { try file.sync() }
            try directory?.sync()
        } catch {
            throw .stopped(reason: "the disk failed to store a pack (\(error))")
        }
    }
}
