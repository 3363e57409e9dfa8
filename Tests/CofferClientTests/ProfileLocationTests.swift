import CofferSystem
import Foundation
import Testing

@testable import CofferClient

/// The location of a profile, its lock, and the note in the lock.
@Suite(.serialized) struct ProfileLocationTests {
    private func standard(_ environment: [String: String]) -> String? {
        ProfileLocation.standard { environment[$0] }?.path
    }

    @Test func standardPlaces() {
        #expect(standard(["COFFER_HOME": "/c", "XDG_DATA_HOME": "/x", "HOME": "/h"]) == "/c")
        #expect(standard(["COFFER_HOME": "", "XDG_DATA_HOME": "/x", "HOME": "/h"]) == "/x/coffer")
        #expect(standard(["XDG_DATA_HOME": "relative", "HOME": "/h"]) == "/h/.local/share/coffer")
        #expect(standard(["HOME": "/h"]) == "/h/.local/share/coffer")
        #expect(standard(["HOME": ""]) == nil)
        #expect(standard([:]) == nil)
    }

    /// A background mount has another working directory than the command that started it.
    @Test func relativePaths() {
        let working = FileManager.default.currentDirectoryPath
        #expect(standard(["COFFER_HOME": "c/d"]) == "\(working)/c/d")
        #expect(ProfileLocation(path: "profile").path == "\(working)/profile")
        #expect(standard(["HOME": "h"]) == "\(working)/h/.local/share/coffer")
    }

    @Test func secondOpenerIsLockedOut() throws {
        let test = try TestProfile()
        do {
            let profile = try test.unlock()
            #expect(test.location.isLocked)
            try profile.setLockNote(LockNote(process: 4711, mountPoint: "/m", socket: "/s"))
            guard
                case .profile(.locked(let note)) = clientError({ () throws(ClientError) in
                    try test.unlock(waits: false)
                })
            else {
                Issue.record("two have the profile")
                return
            }
            #expect(note == LockNote(process: 4711, mountPoint: "/m", socket: "/s"))
            // No passphrase was tried.
            #expect(AttemptLimiter(path: test.location.attempts).count == 0)
        }
        #expect(test.waitUntilFree())
        _ = try test.unlock()
    }

    @Test func lockWithoutANote() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        for text in ["", "x", "1", "1\n2", "x\ny\nz\n"] {
            try Data(text.utf8).write(to: URL(filePath: test.location.lock))
            guard
                case .profile(.locked(nil)) = clientError({ () throws(ClientError) in
                    try test.unlock(waits: false)
                })
            else {
                Issue.record("“\(text)”")
                continue
            }
        }
        #expect(profile.name == "Alice")
    }

    @Test func notes() {
        let note = LockNote(process: 12, mountPoint: "/with space\t", socket: "/run/s")
        #expect(LockNote(Array(note.text.utf8)) == note)
        let failed = LockNote(process: 12, mountPoint: "", socket: "", failure: "no space left")
        #expect(LockNote(Array(failed.text.utf8)) == failed)
        #expect(LockNote(Array("\n\n\n".utf8)) == nil)
        #expect(LockNote(Array("12\n\n\n".utf8)) == LockNote(process: 12, mountPoint: "", socket: ""))
        #expect(LockNote(Array("-1x\n/m\n/s\n".utf8)) == nil)
        #expect(LockNote(Array("12\n/m\n".utf8)) == nil)
    }

    @Test(
        "A mount point may have ends of lines in its name",
        arguments: ["/m\r", "/m\n", "/a\nb\r\nc", "/m\n\n"])
    func noteWithEndsOfLines(path: String) {
        let note = LockNote(process: 12, mountPoint: path, socket: "/run/s")
        let read = LockNote(Array(note.text.utf8))
        #expect(read?.mountPoint.hasSameBytes(as: path) == true)
        #expect(read?.socket == "/run/s")
    }

    /// A shorter note leaves nothing of a longer one.
    @Test func noteIsReplaced() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        let long = LockNote(process: 1, mountPoint: String(repeating: "m", count: 500), socket: "/s")
        let short = LockNote(process: 2, mountPoint: "", socket: "")
        for note in [long, short] {
            try profile.setLockNote(note)
            #expect(test.location.lockNote == note)
        }
    }

    @Test func lockIsASymbolicLink() throws {
        let test = try TestProfile()
        let target = "\(test.location.path)/target"
        try Data("mine".utf8).write(to: URL(filePath: target))
        try FileManager.default.removeItem(atPath: test.location.lock)
        try FileManager.default.createSymbolicLink(atPath: test.location.lock, withDestinationPath: target)
        #expect(
            clientError { () throws(ClientError) in try test.unlock(waits: false) }?.caseName == "system")
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "mine")
    }
}
