import CofferSystem
import Foundation
import Testing

/// A lock that one process at a time has.
@Suite struct FileLockTests {
    /// Keeps a lock for as long as it lives.
    private final class Holder {
        let lock: FileLock
        init(_ lock: consuming FileLock) { self.lock = lock }
    }

    private let place: TemporaryPlace

    init() throws { place = try TemporaryPlace() }

    private func take() throws -> Holder? {
        guard let lock = try FileLock.take(place["lock"]) else { return nil }
        return Holder(lock)
    }

    private func isFree() throws -> Bool { try take() != nil }

    @Test func oneHolderAtATime() throws {
        var holder = try take()
        #expect(holder != nil)
        #expect(try !isFree())
        holder = nil
        #expect(try isFree())
    }

    /// The other process holds the lock until its input ends.
    @Test func anotherProcessHoldsIt() throws {
        let other = Process()
        let (input, output) = (Pipe(), Pipe())
        other.executableURL = URL(filePath: "/usr/bin/flock")
        other.arguments = ["-n", place["lock"], "sh", "-c", "echo locked; cat"]
        other.standardInput = input
        other.standardOutput = output
        try other.run()
        #expect(output.fileHandleForReading.availableData == Data("locked\n".utf8))
        #expect(try !isFree())
        try input.fileHandleForWriting.close()
        other.waitUntilExit()
        #expect(other.terminationStatus == 0)
        #expect(try isFree())
    }

    @Test func anotherProcessDoesNotGetIt() throws {
        var holder = try take()
        #expect(holder != nil)
        let arguments = ["-n", "-E", "9", place["lock"], "true"]
        #expect(try ChildProcess.run("flock", arguments) == 9)
        holder = nil
        #expect(try ChildProcess.run("flock", arguments) == 0)
    }

    /// As a mount in the background takes the lock over from the command that started it.
    @Test func aDescriptorCarriesTheLock() throws {
        var holder = try take()
        let copy = fcntl(holder?.lock.number ?? -1, F_DUPFD_CLOEXEC, 0)
        try #require(copy >= 0)
        holder = nil
        #expect(try !isFree())
        holder = Holder(FileLock(owning: Descriptor(owning: copy)))
        #expect(try holder?.lock.identity() == FileIdentity(of: place["lock"]))
        #expect(try !isFree())
        holder = nil
        #expect(try isFree())
    }

    @Test func notesReplaceEachOther() throws {
        let holder = try #require(try take())
        for note in ["a long note", "short", "", "again"] {
            try holder.lock.setNote(note)
            #expect(try place.text("lock") == note)
        }
    }

    /// Whoever removes the file and locks a new one has another lock.
    @Test func identityIsOfTheLockedFile() throws {
        let first = try #require(try take())
        let identity = try first.lock.identity()
        #expect(try identity == FileIdentity(of: place["lock"]))
        try Directory.removeFile(place["lock"])
        let second = try #require(try take())
        #expect(try second.lock.identity() != identity)
        #expect(try first.lock.identity() == identity)
    }

    @Test func onlyFilesAreLocked() throws {
        let link = try place.link("link", to: place.file("target"))
        expectError(ELOOP, on: link) { _ = try FileLock.take(link) }
        let dangling = try place.link("dangling", to: place["new"])
        expectError(ELOOP, on: dangling) { _ = try FileLock.take(dangling) }
        #expect(!Directory.exists(place["new"]))
        let directory = try place.directory("directory")
        expectError(EISDIR, on: directory) { _ = try FileLock.take(directory) }
        expectError(ENOENT, on: place["missing/lock"]) { _ = try FileLock.take(place["missing/lock"]) }
        expectError(ENOTDIR, on: place["target/lock"]) { _ = try FileLock.take(place["target/lock"]) }
    }

    @Test func othersHaveNoRights() throws {
        let path = try place.file("private")
        try #require(chmod(path, 0) == 0)
        try withoutRights { expectError(EACCES, on: path) { _ = try FileLock.take(path) } }
    }
}
