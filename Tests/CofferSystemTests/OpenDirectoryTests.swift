import CofferSystem
import Foundation
import Testing

/// Names in a directory that is held open, and how each call fails.
@Suite struct OpenDirectoryTests {
    private let place: TemporaryPlace
    private let directory: OpenDirectory

    init() throws {
        place = try TemporaryPlace()
        directory = try OpenDirectory.open(place.path)
    }

    @Test func onlyDirectoriesAreOpened() throws {
        let file = try place.file("file")
        expectError(ENOENT, on: place["missing"]) { _ = try OpenDirectory.open(place["missing"]) }
        expectError(ENOTDIR, on: file) { _ = try OpenDirectory.open(file) }
        expectError(ENOENT, on: place["missing"]) { _ = try directory.subdirectory("missing") }
        expectError(ENOTDIR, on: file) { _ = try directory.subdirectory("file") }
    }

    /// A path may lead through links, as users set them; a name inside the directory may not be one.
    @Test func linksAreFollowedInPathsAlone() throws {
        let target = try place.directory("target")
        let link = try place.link("link", to: target)
        let opened = try OpenDirectory.open(link)
        #expect(try opened.status().identity == FileIdentity(of: target))
        expectError(ENOTDIR, ELOOP, on: link) { _ = try directory.subdirectory("link") }
        try place.file("file")
        let other = try place.link("other", to: place["file"])
        expectError(ELOOP, on: other) { _ = try directory.openFile("other") }
        expectError(EEXIST, on: other) { _ = try directory.createFile("other") }
        #expect(try place.text("file") == "text")
    }

    @Test func namesAreLookedUpWhereTheDirectoryHasMoved() throws {
        let opened = try OpenDirectory.open(place.directory("old"))
        try directory.rename("old", to: directory, "new")
        _ = try place.directory("old")
        _ = try opened.createFile("file")
        #expect(try Directory.names(in: place["new"]) == ["file"])
        #expect(try Directory.names(in: place["old"]) == [])
    }

    @Test func aRemovedDirectoryTakesNoNames() throws {
        let opened = try OpenDirectory.open(place.directory("gone"))
        #expect(try directory.removeSubdirectory("gone"))
        expectError(ENOENT) { _ = try opened.createFile("file") }
        expectError(ENOENT) { try opened.makeSubdirectory("directory") }
        #expect(try opened.status(of: "file") == nil)
        try opened.forEach { _ in
            Issue.record("it has an entry")
            return true
        }
    }

    @Test func filesAreCreatedOnce() throws {
        let file = try directory.createFile("file")
        try file.write(([1, 2, 3] as [UInt8]).span.bytes, at: 0)
        expectError(EEXIST, on: place["file"]) { _ = try directory.createFile("file") }
        #expect(try directory.openFile("file").size() == 3)
        expectError(ENOENT, on: place["missing"]) { _ = try directory.openFile("missing") }
    }

    @Test func filesToReadAreNotWritten() throws {
        try place.file("file")
        let file = try directory.openFile("file")
        expectError(EBADF, on: place["file"]) { try file.write(([1] as [UInt8]).span.bytes, at: 0) }
        expectError(EINVAL, EBADF, on: place["file"]) { try file.truncate(to: 0) }
        #expect(try place.text("file") == "text")
    }

    /// No writer opens the FIFO, for which open(2) would wait.
    @Test func aFIFOKeepsNobodyWaiting() throws {
        try #require(mkfifo(place["fifo"], 0o644) == 0)
        #expect(try directory.openFile("fifo").status().kind == .other)
    }

    @Test func directoriesAreMadeAndRemoved() throws {
        #expect(try directory.makeSubdirectory("made"))
        #expect(try !directory.makeSubdirectory("made"))
        try place.file("made/file")
        #expect(try !directory.removeSubdirectory("made"))
        #expect(try directory.subdirectory("made").removeFile("file"))
        #expect(try directory.removeSubdirectory("made"))
        #expect(try !directory.removeSubdirectory("made"))
        try place.file("file")
        #expect(try !directory.makeSubdirectory("file"))
        expectError(ENOTDIR, on: place["file"]) { try directory.removeSubdirectory("file") }
    }

    @Test func filesAreRemoved() throws {
        try place.file("file")
        #expect(try directory.removeFile("file"))
        #expect(try !directory.removeFile("file"))
        let target = try place.directory("directory")
        expectError(EISDIR, EPERM, on: target) { try directory.removeFile("directory") }
        _ = try place.link("link", to: target)
        #expect(try directory.removeFile("link"))
        #expect(Directory.exists(target))
    }

    @Test func statusIsOfTheNameItself() throws {
        #expect(try directory.status(of: "missing") == nil)
        try place.file("file", "five!")
        let file = try #require(try directory.status(of: "file"))
        #expect(file.kind == .regular && file.byteCount == 5 && file.linkCount == 1)
        _ = try place.link("link", to: place["file"])
        #expect(try directory.status(of: "link")?.kind == .symbolicLink)
        #expect(try directory.status().kind == .directory)
        expectError(ENAMETOOLONG) { _ = try directory.status(of: String(repeating: "n", count: 256)) }
    }

    @Test func namesAreGivenAndMoved() throws {
        let other = try OpenDirectory.open(place.directory("other"))
        try place.file("a", "a")
        try place.file("b", "b")
        try directory.link("a", to: other, "a")
        #expect(try directory.status(of: "a")?.linkCount == 2)
        expectError(EEXIST, on: place["b"]) { try directory.link("a", to: directory, "b") }
        expectError(ENOENT) { try directory.link("missing", to: other, "c") }
        expectError(EEXIST, on: place["b"]) { try directory.renameExclusively("a", to: directory, "b") }
        #expect(try place.text("b") == "b")
        try directory.rename("a", to: directory, "b")
        #expect(try place.text("b") == "a")
        try directory.renameExclusively("b", to: other, "d")
        expectError(ENOENT) { try directory.rename("b", to: other, "e") }
        #expect(try Directory.names(in: place["other"]).sorted() == ["a", "d"])
    }

    @Test func entriesAreListedOneByOne() throws {
        for name in ["a", "b", "c"] { try place.file(name) }
        _ = try place.directory("d")
        _ = try place.link("e", to: "a")
        for _ in 0..<2 {
            var kinds: [String: FileStatus.Kind?] = [:]
            try directory.forEach {
                kinds[$0.name] = $0.kind
                return true
            }
            #expect(kinds.keys.sorted() == ["a", "b", "c", "d", "e"])
            #expect(kinds["d"] == .directory && kinds["e"] == .symbolicLink && kinds["a"] == .regular)
        }
        var count = 0
        try directory.forEach { _ in
            count += 1
            return count < 2
        }
        #expect(count == 2)
        expectError(EIO) {
            try directory.forEach { _ throws(SystemError) in throw SystemError("x", code: EIO) }
        }
    }

    @Test func othersHaveNoRights() throws {
        let path = try place.directory("private")
        try place.file("private/file")
        let opened = try OpenDirectory.open(path)
        try opened.setAccess(group: nil, 0)
        #expect(try opened.status().permissions == 0)
        try withoutRights {
            #expect(!opened.isWritable)
            expectError(EACCES, on: path) { _ = try OpenDirectory.open(path) }
            expectError(EACCES) { _ = try opened.createFile("new") }
            expectError(EACCES) { _ = try opened.openFile("file") }
            expectError(EACCES) { _ = try opened.status(of: "file") }
            expectError(EACCES) { try opened.makeSubdirectory("new") }
            expectError(EACCES) { try opened.removeFile("file") }
            expectError(EACCES) { try opened.rename("file", to: opened, "new") }
            expectError(EACCES) { try opened.forEach { _ in true } }
        }
        try opened.setAccess(group: nil, 0o700)
        #expect(opened.isWritable)
        #expect(!opened.hasAccessList)
        #expect(try opened.openFile("file").size() == 4)
    }

    @Test func aFullTableOpensNothing() async throws {
        await #expect(processExitsWith: .success) {
            let directory = try OpenDirectory.open("/")
            forbidDescriptors()
            expectError(EMFILE, on: "/") { _ = try OpenDirectory.open("/") }
            expectError(EMFILE) { _ = try directory.subdirectory("tmp") }
            expectError(EMFILE) { try directory.forEach { _ in true } }
            expectError(EMFILE) { _ = try DirectoryWatch() }
            expectError(EMFILE) { _ = try POSIXStorageDirectory(path: "/") }
            #expect(try directory.status(of: "tmp") != nil)
        }
    }
}
