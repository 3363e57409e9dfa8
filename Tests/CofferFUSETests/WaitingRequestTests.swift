import CofferFormat
import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFUSE
@testable import CofferVault

extension LiveMountTests {
    /// Requests that wait for pages of an index, while others do not.
    @Suite struct WaitingRequestTests {
        private static let fileCount = 1_000

        /// Mounts a vault with a large directory `cold`, of files and folders with a file each, on a slow disk.
        private static func run(_ body: (LiveMount, HeldPages) throws -> Void) throws {
            let pages = HeldPages()
            try LiveMount.run(opening: { test in
                let maker = try test.open()
                let caller = Caller(user: getuid(), group: getgid(), umask: 0)
                let directory = try maker.create(
                    Vault.NewItem(mode: 0o040755), named: Array("cold".utf8), in: Vault.rootNumber, by: caller
                )
                for number in 0..<fileCount {
                    let file = try maker.create(
                        Vault.NewItem(mode: 0o100644), named: Array("file \(number)".utf8),
                        in: directory.number,
                        by: caller)
                    if number % 100 == 0 {
                        try maker.contents.write(
                            Array("content".utf8).span.bytes, to: file.number, at: 0, touches: true,
                            dropsPrivileges: false)
                    }
                }
                for number in 0..<fileCount {
                    let one = try maker.create(
                        Vault.NewItem(mode: 0o040755), named: Array("folder \(number)".utf8),
                        in: directory.number, by: caller)
                    _ = try maker.create(
                        Vault.NewItem(mode: 0o100644), named: Array("file".utf8), in: one.number, by: caller)
                }
                try maker.close()
                let vault = try Vault(
                    in: HeldPageDirectory(test.directory, pages), id: test.id, store: test.store,
                    keys: test.keys,
                    problems: ProblemLog())
                vault.pace.noteSlow(for: 3_600_000_000_000)
                return vault
            }) { mount in
                try body(mount, pages)
                pages.release()
            }
        }

        /// Requests about one node keep their order, whatever the others do.
        @Test func requestsOfOneNodeKeepTheirOrder() throws {
            let (waiting, done) = (WaitingRequests(), Condition([Int]()))
            let gate = Condition(false)
            let node = Node(slot: 1, item: 5)
            waiting.perform(inOrderOf: node) {
                _ = gate.wait { $0 ? true : nil }
                done.update { $0.append(0) }
            }
            for number in 1..<20 { waiting.perform(inOrderOf: node) { done.update { $0.append(number) } } }
            #expect(waiting.isWaiting(for: node))
            waiting.perform(inOrderOf: Node(slot: 1, item: 6)) { done.update { $0.append(100) } }
            waiting.perform { done.update { $0.append(101) } }
            // The others do not wait for them.
            done.wait { $0.count >= 2 ? () : nil }
            gate.update { $0 = true }
            waiting.stop()
            #expect(done.withLock { Array($0.dropFirst(2)) } == Array(0..<20))
            #expect(!waiting.isWaiting(for: node))
        }

        /// Runs `body` in a thread; its outcome is awaited at the end.
        private static func begin(
            _ outcome: Condition<String?>, _ body: @escaping @Sendable () throws -> String
        ) throws -> CofferSystem.Thread {
            try CofferSystem.Thread.start("program") {
                let text: String
                do { text = try body() } catch { text = "\(error)" }
                outcome.update { $0 = text }
            }
        }

        @Test func aCachedRequestIsAnsweredWhileAnotherWaits() throws {
            try Self.run { mount, pages in
                let (one, other) = (mount.path("a"), mount.path("b"))
                try Program.closes(try Program.opens(one, O_CREAT | O_RDWR))
                for number in 0..<60 {
                    try Program.closes(try Program.opens(mount.path("other \(number)"), O_CREAT | O_RDWR))
                }
                // All that a rename needs is in memory: the same was done before.
                for _ in 0..<2 { #expect(rename(one, other) == 0 && rename(other, one) == 0) }
                pages.dropAll()
                pages.hold()
                let (path, renamed) = (mount.path("cold/file 501"), Condition<String?>(nil))
                let waited = Condition<String?>(nil)
                let waiter = try Self.begin(waited) { "\(try Program.status(path).st_size)" }
                let isWaiting = pages.awaitWaiting()
                let mover = try Self.begin(renamed) {
                    for round in 0..<20 {
                        guard rename(round % 2 == 0 ? one : other, round % 2 == 0 ? other : one) == 0 else {
                            throw Failed(code: errno)
                        }
                    }
                    return "renamed"
                }
                let early = renamed.wait(nanoseconds: 90_000_000_000) { $0 }
                let answer = waited.withLock { $0 }
                pages.release()
                waiter.join()
                mover.join()
                #expect(isWaiting)
                #expect(early == "renamed")
                #expect(answer == nil)
                #expect(waited.withLock { $0 } == "0")
            }
        }

        @Test func anErrorHitsOnlyTheRequestThatWaits() throws {
            try Self.run { mount, pages in
                try Program.closes(try Program.opens(mount.path("a"), O_CREAT | O_RDWR))
                pages.dropAll()
                pages.fail(with: EIO)
                #expect(throws: Failed(code: EIO)) { try Program.status(mount.path("cold/file 501")) }
                #expect(rename(mount.path("a"), mount.path("b")) == 0)
                pages.fail(with: nil)
                #expect(try Program.status(mount.path("cold/file 501")).st_size == 0)
                #expect(mount.vault.stoppedReason == nil)
            }
        }

        /// A file is truncated and removed by others while a read of it waits for its rows.
        @Test func changesWhileARequestWaits() throws {
            try Self.run { mount, pages in
                let path = mount.path("cold/file 500")
                let file = try Program.opens(path)
                pages.dropAll()
                pages.hold()
                let (read, changed) = (Condition<String?>(nil), Condition<String?>(nil))
                let reader = try Self.begin(read) { try Program.reads(file) }
                let isWaiting = pages.awaitWaiting()
                let changer = try Self.begin(changed) {
                    try Program.truncates(file, to: 3)
                    guard unlink(path) == 0 else { throw Failed(code: errno) }
                    return "changed"
                }
                pages.release()
                reader.join()
                changer.join()
                #expect(isWaiting)
                // A read that the kernel began at the old size ends with the zeros that a truncation leaves.
                #expect(["content", "con", "con\0\0\0\0"].contains(read.withLock { $0 }))
                #expect(changed.withLock { $0 } == "changed")
                #expect(try Program.reads(file) == "con")
                try Program.closes(file)
            }
        }

        /// An unmount answers requests that wait.
        @Test func theMountEndsWhileARequestWaits() throws {
            try Self.run { mount, pages in
                _ = try Program.status(mount.path())
                pages.dropAll()
                pages.hold()
                // One request is all that this takes: later ones would wait until the session is gone.
                let (path, waited) = (mount.path("cold"), Condition<String?>(nil))
                let waiter = try Self.begin(waited) { "\(try Program.status(path).st_mode & 0o777)" }
                let isWaiting = pages.awaitWaiting()
                let releaser = try CofferSystem.Thread.start("releaser") {
                    usleep(200_000)
                    pages.release()
                }
                mount.end()
                waiter.join()
                releaser.join()
                #expect(isWaiting)
                #expect(waited.withLock { $0 } == "\(0o755)")
            }
        }

        /// The memory of this process.
        private static var residentByteCount: Int {
            let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(
                separator: " ")
            return (fields.flatMap { Int($0[1]) } ?? 0) * 4096
        }

        /// A thousand requests wait at once, and each gets its own answer.
        @Test func aThousandRequests() throws {
            try Self.run { mount, pages in
                // The kernel asks for one name of a directory at a time, so each request has a directory of its own.
                for number in 0..<Self.fileCount {
                    _ = try Program.status(mount.path("cold/folder \(number)"))
                }
                pages.dropAll()
                pages.hold()
                let (right, before) = (Condition(0), Self.residentByteCount)
                let threads = try (0..<Self.fileCount).map { number in
                    let path = mount.path("cold/folder \(number)/file")
                    return try CofferSystem.Thread.start("program") {
                        guard let status = try? Program.status(path) else { return }
                        if status.st_size == 0, status.st_mode & 0o777 == 0o644 { right.update { $0 += 1 } }
                    }
                }
                let isWaiting = pages.awaitWaiting(4)
                let grown = Self.residentByteCount - before
                pages.release()
                for thread in threads { thread.join() }
                #expect(isWaiting)
                #expect(right.withLock { $0 } == Self.fileCount)
                // Most of it are the stacks of the thousand threads.
                #expect(grown < 64 << 20)
            }
        }
    }
}
