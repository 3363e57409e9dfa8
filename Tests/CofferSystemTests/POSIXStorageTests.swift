import CofferSystem
import Foundation
import Testing

/// The store's files on a real disk, and how each call fails.
@Suite struct POSIXStorageTests {
    private let place: TemporaryPlace
    private let directory: POSIXStorageDirectory

    init() throws {
        place = try TemporaryPlace()
        directory = try POSIXStorageDirectory(path: place.path)
    }

    private func read(_ file: any StorageFile, at offset: Int, _ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        let got = try bytes.withMutableRawSpan { span throws(SystemError) in
            try file.read(into: &span, at: offset)
        }
        return Array(bytes.prefix(got))
    }

    private func readAtHand(_ file: any StorageFile, at offset: Int, _ count: Int) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        let got = try bytes.withMutableRawSpan { span throws(SystemError) in
            try file.readAtHand(into: &span, at: offset)
        }
        return got.map { Array(bytes.prefix($0)) }
    }

    // MARK: Reading what is in memory

    @Test func whatIsInMemoryIsRead() throws {
        let file = try directory.open("file", create: true)
        let content = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
        try file.write(content.span.bytes, at: 0)
        #expect(try readAtHand(file, at: 4_096, 4_096) == Array(content[4_096..<8_192]))
        // The end of the file is not an absent page.
        #expect(try readAtHand(file, at: 8_192, 4_096) == Array(content[8_192...]))
        #expect(try readAtHand(file, at: 10_000, 4_096)?.isEmpty == true)
        #expect(try readAtHand(file, at: 40_000, 4_096)?.isEmpty == true)
    }

    @Test func whatIsAbsentIsBroughtFirst() throws {
        let file = try directory.open("file", create: true)
        let content = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 / 4_096) }
        try file.write(content.span.bytes, at: 0)
        try file.dataSync()
        let descriptor = open(place["file"], O_RDONLY)
        defer { close(descriptor) }
        #expect(posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0)
        let wanted = Array(content[65_536..<69_632])
        // Where the file system knows no such reads, the bytes come at once.
        if try readAtHand(file, at: 65_536, 4_096) != wanted {
            try AbsentPage(of: file, at: 65_536, count: 4_096).bring()
        }
        #expect(try readAtHand(file, at: 65_536, 4_096) == wanted)
    }

    // MARK: Directories

    @Test func onlyDirectoriesAreOpened() throws {
        expectError(ENOENT, on: place["missing"]) { _ = try POSIXStorageDirectory(path: place["missing"]) }
        let file = try place.file("file")
        expectError(ENOTDIR, on: file) { _ = try POSIXStorageDirectory(path: file) }
    }

    @Test func aLinkIsFollowedWhereItMayBe() throws {
        let link = try place.link("link", to: place.directory("target"))
        expectError(ENOTDIR, ELOOP, on: link) { _ = try POSIXStorageDirectory(path: link) }
        try place.file("target/file")
        #expect(try POSIXStorageDirectory(path: link, followsLink: true).list() == ["file"])
        expectError(ENOTDIR, ELOOP, on: link) { _ = try directory.subdirectory("link") }
    }

    @Test func filesAreOpened() throws {
        expectError(ENOENT, on: place["file"]) { _ = try directory.open("file", create: false) }
        try directory.open("file", create: true).write(([1, 2, 3] as [UInt8]).span.bytes, at: 0)
        #expect(try directory.open("file", create: true).size() == 3)
        #expect(try directory.open("file", create: false).size() == 3)
        #expect(try FileStatus(of: place["file"]).permissions == 0o600)
        let made = try place.directory("directory")
        expectError(EISDIR, on: made) { _ = try directory.open("directory", create: false) }
    }

    @Test func aLinkInTheWayIsNotFollowed() throws {
        let target = try place.file("target")
        let link = try place.link("link", to: target)
        for create in [false, true] {
            expectError(ELOOP, on: link) { _ = try directory.open("link", create: create) }
        }
        expectError(ELOOP, on: link) { _ = try directory.openDirect("link") }
        #expect(try place.text("target") == "text")
    }

    @Test func namesAreListedAndRemoved() throws {
        for name in ["a", "b"] { try place.file(name) }
        #expect(try directory.list().sorted() == ["a", "b"])
        #expect(try directory.contains("a"))
        try directory.remove("a")
        try directory.sync()
        #expect(try !directory.contains("a"))
        expectError(ENOENT, on: place["a"]) { try directory.remove("a") }
        let made = try place.directory("directory")
        expectError(EISDIR, EPERM, on: made) { try directory.remove("directory") }
    }

    @Test func subdirectoriesAreMade() throws {
        _ = try directory.subdirectory("packs").open("file", create: true)
        #expect(try directory.subdirectory("packs").list() == ["file"])
        #expect(try FileStatus(of: place["packs"]).permissions == 0o700)
        let file = try place.file("file")
        expectError(ENOTDIR, on: file) { _ = try directory.subdirectory("file") }
    }

    @Test func aRemovedDirectory() throws {
        let gone = try POSIXStorageDirectory(path: place.directory("gone"))
        try Directory.removeAll(place["gone"])
        expectError(ENOENT) { _ = try gone.open("file", create: true) }
        expectError(ENOENT) { _ = try gone.list() }
        expectError(ENOENT) { _ = try gone.subdirectory("packs") }
        #expect(try !gone.contains("file"))
    }

    @Test func spaceAddsUp() throws {
        let space = try directory.space()
        #expect(space.total >= space.free && space.free >= space.available && space.total > 0)
    }

    @Test func othersHaveNoRights() throws {
        let path = try place.directory("private")
        try place.file("private/file")
        let opened = try POSIXStorageDirectory(path: path)
        try #require(chmod(path, 0) == 0)
        defer { chmod(path, 0o700) }
        try withoutRights {
            expectError(EACCES, on: path) { _ = try POSIXStorageDirectory(path: path) }
            expectError(EACCES) { _ = try opened.open("file", create: false) }
            expectError(EACCES) { _ = try opened.open("new", create: true) }
            expectError(EACCES) { _ = try opened.openDirect("file") }
            expectError(EACCES) { try opened.remove("file") }
            expectError(EACCES) { _ = try opened.list() }
            expectError(EACCES) { _ = try opened.subdirectory("packs") }
        }
    }

    // MARK: Files

    @Test func readsEndWithTheFile() throws {
        let file = try directory.open("file", create: true)
        #expect(try read(file, at: 0, 8) == [])
        try file.write(([1, 2, 3] as [UInt8]).span.bytes, at: 5)
        #expect(try file.size() == 8)
        #expect(try read(file, at: 0, 100) == [0, 0, 0, 0, 0, 1, 2, 3])
        #expect(try read(file, at: 6, 1) == [2])
        #expect(try read(file, at: 9, 1) == [])
        try file.truncate(to: 6)
        #expect(try read(file, at: 4, 100) == [0, 1])
        try file.dataSync()
    }

    @Test func spaceIsReservedAndFreed() throws {
        let file = try directory.open("file", create: true)
        try file.preallocate(at: 0, count: 1 << 16)
        #expect(try file.size() == 0)
        #expect(try file.allocatedByteCount() >= 1 << 16)
        try file.write([UInt8](repeating: 7, count: 1 << 16).span.bytes, at: 0)
        try file.dataSync()
        let before = try file.allocatedByteCount()
        try file.punchHole(at: 4_096, count: 8_192)
        #expect(try file.allocatedByteCount() == before - 8_192)
        #expect(try file.size() == 1 << 16)
        #expect(try read(file, at: 4_095, 8_194) == [7] + [UInt8](repeating: 0, count: 8_192) + [7])
    }

    /// A device that is always full.
    @Test func aFullDisk() throws {
        let device = try POSIXStorageDirectory(path: "/dev").open("full", create: false)
        let error = #expect(throws: SystemError.self) { try device.write(([1] as [UInt8]).span.bytes, at: 0) }
        #expect(error?.isNoSpace == true && error?.subject == "/dev/full")
    }

    @Test func aFileIsLockedOnce() throws {
        let parent = try OpenDirectory.open(place.path)
        try place.file("file")
        do {
            let file = try parent.openFile("file")
            #expect(file.lock())
            #expect(file.lock(), "the same open file")
            #expect(try !parent.openFile("file").lock())
        }
        #expect(try parent.openFile("file").lock())
    }

    @Test func pagesPassThePageCache() throws {
        let file = try OpenDirectory.open(place.path).createFile("file")
        let buffer = AlignedBuffer(count: 3 * 4_096)
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        buffer.copy(bytes.span.bytes, to: 0)
        let written = try file.writeDirectly(buffer, count: bytes.count)
        // A file system without O_DIRECT writes nothing; the caller writes the rest in any case.
        #expect(written == 8_192 || written == 0)
        try file.write(bytes.span.bytes.extracting(written..<bytes.count), at: written)
        try file.flush()
        for range in [0..<100, 4_000..<4_200, 9_990..<10_050, 10_001..<10_002] {
            let found = try file.readDirectly(range, into: buffer)
            let wanted = Array(bytes[min(range.lowerBound, 10_000)..<min(range.upperBound, 10_000)])
            #expect(buffer.withBytes(found) { $0.array } == wanted)
        }
    }
}
