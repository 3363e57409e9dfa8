import CofferSystem
import Foundation
import Testing

/// What the kernel reports of directories.
@Suite struct DirectoryWatchTests {
    /// An event, to be compared.
    private struct Event: Hashable {
        let watch: Int32
        let kind: DirectoryWatch.Event.Kind
        let name: String
    }

    private let place: TemporaryPlace
    private let watch: DirectoryWatch

    init() throws {
        place = try TemporaryPlace()
        watch = try DirectoryWatch()
    }

    private func next(milliseconds: Int32 = 0) throws -> [Event] {
        try watch.wait(milliseconds: milliseconds).map {
            Event(watch: $0.watch, kind: $0.kind, name: $0.name)
        }
    }

    private func add(_ path: String) throws -> Int32 { try watch.add(OpenDirectory.open(path)) }

    @Test func namesThatComeAndGo() throws {
        let number = try add(place.path)
        try place.file("file")
        _ = try place.directory("directory")
        try Directory.removeFile(place["file"])
        try Directory.removeAll(place["directory"])
        let events = try next()
        #expect(events.allSatisfy { $0.watch == number })
        #expect(Set(events.map(\.name)) == ["file", "directory"])
        #expect(events.filter { $0.name == "file" }.allSatisfy { $0.kind == .file })
        #expect(events.filter { $0.name == "directory" }.map(\.kind) == [.directory, .directory])
        #expect(try next() == [])
    }

    @Test func aFileThatWasWrittenIsClosed() throws {
        let handle = try #require(FileHandle(forWritingAtPath: place.file("file")))
        let number = try add(place.path)
        try handle.write(contentsOf: Data([1]))
        #expect(try next() == [])
        try handle.close()
        #expect(try next() == [Event(watch: number, kind: .file, name: "file")])
    }

    @Test func bothEndsOfAMove() throws {
        let (one, other) = (try place.directory("one"), try place.directory("other"))
        try place.file("one/file")
        let numbers = (try add(one), try add(other))
        #expect(numbers.0 != numbers.1)
        try OpenDirectory.open(one).rename("file", to: OpenDirectory.open(other), "new")
        #expect(
            try next() == [
                Event(watch: numbers.0, kind: .file, name: "file"),
                Event(watch: numbers.1, kind: .file, name: "new"),
            ])
    }

    @Test func aDirectoryIsWatchedOnce() throws {
        let number = try add(place.path)
        #expect(try add(place.path) == number)
        try place.file("file")
        watch.remove(number)
        let events = try next()
        #expect(events.last == Event(watch: number, kind: .gone, name: ""))
        try place.file("more")
        #expect(try next() == [])
    }

    @Test func aDirectoryVanishes() throws {
        let path = try place.directory("watched")
        let number = try add(path)
        try Directory.removeAll(path)
        let events = try next()
        #expect(!events.isEmpty)
        #expect(events.allSatisfy { $0 == Event(watch: number, kind: .gone, name: "") })
        watch.remove(number)
        #expect(try next() == [])
    }

    /// As long as somebody has it open, the kernel keeps the directory, and reports nothing.
    @Test func aVanishedDirectoryIsHeldOpen() throws {
        let path = try place.directory("watched")
        var held: OpenDirectory? = try OpenDirectory.open(path)
        let number = try watch.add(#require(held))
        try Directory.removeAll(path)
        #expect(try !next().contains { $0.watch != number })
        #expect(held?.isWritable == false || (try? held?.createFile("file")) == nil)
        held = nil
        #expect(try next().contains(Event(watch: number, kind: .gone, name: "")))
    }

    @Test func aDirectoryMoves() throws {
        let number = try add(place.directory("watched"))
        let parent = try OpenDirectory.open(place.path)
        try parent.rename("watched", to: parent, "elsewhere")
        #expect(try next() == [Event(watch: number, kind: .gone, name: "")])
    }

    @Test func aWatchWaits() throws {
        let number = try add(place.path)
        let place = place
        let writer = try Thread.start("test-writer") { _ = try? place.file("file") }
        var events: [Event] = []
        while events.isEmpty { events = try next(milliseconds: 60_000) }
        writer.join()
        #expect(events.first == Event(watch: number, kind: .file, name: "file"))
    }

    @Test func aWaitIsWoken() throws {
        let watch = watch
        let waker = try Thread.start("test-waker") { watch.wake() }
        #expect(try next(milliseconds: -1) == [])
        waker.join()
        // One wake ends one wait.
        #expect(try next() == [])
    }

    @Test func filesAreNotWatched() throws {
        let path = try place.file("file")
        expectError(ENOTDIR, on: path) { _ = try add(path) }
    }
}
