import CofferSystem
import Foundation
import Synchronization
import Testing

/// Streams whose other end does nothing.
@Suite struct AwaitedStreamTests {
    /// A write to a pipe that nobody reads ends soon after nobody waits for it.
    @Test(arguments: [1, 4096, 65_536, 65_537, 262_164]) func nobodyReads(count: Int) throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        defer { close(writing) }
        // If the write waits in the kernel, it ends with another error.
        let isDone = Atomic(false)
        let watch = Thread {
            for _ in 0..<200 where !isDone.load(ordering: .relaxed) { usleep(50_000) }
            close(reading)
        }
        watch.start()
        let asked = Atomic(0)
        let bytes = [UInt8](repeating: 1, count: count)
        var error: SystemError?
        do throws(SystemError) {
            try AwaitedStream.write(bytes.span.bytes, to: writing, subject: "pipe") {
                asked.add(1, ordering: .relaxed).newValue < 2
            }
        } catch let caught {
            error = caught
        }
        isDone.store(true, ordering: .relaxed)
        // A pipe has room for 64 KiB.
        #expect(error?.code == (count > 65_536 ? ECANCELED : nil))
        #expect(asked.load(ordering: .relaxed) == (count > 65_536 ? 2 : 0))
    }

    /// A reader that goes in the middle of a write ends it with an error, and not the process by a signal.
    @Test func theReaderGoes() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        defer { close(writing) }
        let reader = Thread {
            usleep(200_000)
            close(reading)
        }
        reader.start()
        expectError(EPIPE) {
            try WholeFile.writeAll(
                [UInt8](repeating: 1, count: 262_164), to: writing, subject: "pipe")
        }
    }

    @Test func everythingArrives() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let bytes = (0..<300_001).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let writer = Thread {
            try? AwaitedStream.write(bytes.span.bytes, to: writing, subject: "pipe") { true }
            close(writing)
        }
        writer.start()
        let buffer = AlignedBuffer(count: 400_000)
        let count = try buffer.withMutableBytes(0..<400_000) { (span) throws(SystemError) in
            try AwaitedStream.read(reading, into: &span, subject: "pipe") { true }
        }
        close(reading)
        #expect(buffer.withBytes(0..<count) { $0.array } == bytes)
    }

    @Test func nothingComes() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let reading = ends[0]
        defer { ends.forEach { close($0) } }
        expectError(ETIMEDOUT) {
            try AwaitedStream.awaitInput(reading, milliseconds: 100, subject: "pipe") { true }
        }
        expectError(ECANCELED) {
            try AwaitedStream.awaitInput(reading, milliseconds: 60_000, subject: "pipe") { false }
        }
        #expect(write(ends[1], "x", 1) == 1)
        try AwaitedStream.awaitInput(reading, milliseconds: 100, subject: "pipe") { false }
    }
}

/// Removals and moves, where others may have put something.
@Suite struct DirectoryTests {
    @Test func removingEverything() throws {
        let place = try TemporaryPlace()
        _ = try place.directory("kept")
        try place.file("kept/file")
        _ = try place.directory("a")
        _ = try place.directory("a/b")
        _ = try place.directory("a/b/c")
        try place.file("a/1")
        try place.file("a/b/2")
        _ = try place.link("a/b/c/link", to: place["kept"])
        _ = try place.link("a/dangling", to: "nothing")
        _ = try place.link("link", to: place["kept"])
        try Directory.removeAll(place["a"])
        try Directory.removeAll(place["link"])
        #expect(try Directory.names(in: place.path) == ["kept"])
        #expect(try place.text("kept/file") == "text")
        expectError(ENOENT) { try Directory.removeAll(place["a"]) }
    }

    @Test func movingWithoutReplacing() throws {
        let place = try TemporaryPlace()
        try place.file("new", "new")
        try place.file("old", "old")
        expectError(EEXIST) { try WholeFile.moveExclusively(place["new"], to: place["old"]) }
        #expect(try place.text("old") == "old")
        try WholeFile.moveExclusively(place["new"], to: place["other"])
        #expect(try place.text("other") == "new")
        #expect(!Directory.exists(place["new"]))
    }
}
