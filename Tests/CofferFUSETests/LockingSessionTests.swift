import CCofferSystem
import CofferSystem
import Foundation
import Testing

@testable import CofferFUSE
@testable import CofferVault

extension LiveMountTests {
    /// What a session does before it is locked: nothing is dropped that is not stored.
    @Suite struct LockingSessionTests {
        /// Runs a body on another thread, and tells whether it has ended.
        private func begin(_ body: @escaping @Sendable () -> Void) throws -> Condition<Bool> {
            let hasEnded = Condition(false)
            try CofferSystem.Thread.startDetached("waits") {
                body()
                hasEnded.update { $0 = true }
            }
            return hasEnded
        }

        private func hasEnded(_ work: Condition<Bool>, milliseconds: Int64) -> Bool {
            work.wait(nanoseconds: milliseconds * 1_000_000) { $0 ? true : nil } ?? false
        }

        /// syncfs(2) need not wait for pages that are on their way.
        @Test func pagesOnTheirWayAreAwaited() throws {
            try LiveMount.run { mount in
                let file = try Program.opens(mount.path("file"), O_RDWR | O_CREAT)
                defer { close(file) }
                let text = String(repeating: "not stored yet ", count: 100_000)
                try Program.writes(text, to: file)
                let isClosed = mount.session.closeGate()
                #expect(isClosed)
                let inode = try #require(Vault.existing("file", in: mount.vault))
                let (syncs, waits) = try mount.vault.state.withLock { _ in
                    let syncs = try begin { _ = coffer_sync_file_system(file) }
                    // On some kernels, syncfs waits.
                    _ = hasEnded(syncs, milliseconds: 200)
                    let waits = try begin { _ = mount.session.awaitAnswers() }
                    #expect(!hasEnded(waits, milliseconds: 300), "a page was on its way to the vault")
                    return (syncs, waits)
                }
                #expect(hasEnded(syncs, milliseconds: 90_000) && hasEnded(waits, milliseconds: 90_000))
                let stored = try mount.vault.attributes(of: inode).size
                #expect(stored == Int64(text.utf8.count))
                mount.session.openAgain()
            }
        }

        /// While the pages of one file are under way, the kernel leaves those of others out of a syncfs.
        @Test func pagesThatTheKernelHoldsBackAreStored() throws {
            try LiveMount.run { mount in
                let (count, step) = (300, 8192)
                var files: [Int32] = []
                defer { files.forEach { close($0) } }
                for index in 0..<6 {
                    let file = try Program.opens(mount.path("\(index)"), O_RDWR | O_CREAT)
                    files.append(file)
                    let page = String(repeating: "\(index)", count: 4096)
                    for place in 0..<count { try Program.writes(page, to: file, at: place * step) }
                }
                #expect(mount.session.closeGate())
                let file = files[0]
                var syncs = 0
                let (areAllAnswered, failure) = mount.session.storePages {
                    syncs += 1
                    // Nothing is answered meanwhile. On some kernels, syncfs waits.
                    let work = try? mount.vault.state.withLock { _ in
                        let work = try begin { _ = coffer_sync_file_system(file) }
                        _ = hasEnded(work, milliseconds: 100)
                        return work
                    }
                    if let work { #expect(hasEnded(work, milliseconds: 90_000)) }
                    return nil
                }
                #expect(areAllAnswered && failure == nil)
                let sizes = try (0..<6).map {
                    try mount.vault.lookup(Array("\($0)".utf8), in: Vault.rootNumber).size
                }
                #expect(
                    sizes.allSatisfy { $0 == Int64((count - 1) * step + 4096) }, "\(sizes), \(syncs) times")
                mount.session.openAgain()
            }
        }

        /// A request that another thread answers is in progress, although the serving thread is idle.
        @Test func heldRequestsAreAwaited() throws {
            try LiveMount.run { mount in
                let file = try Program.opens(mount.path("file"), O_RDWR | O_CREAT)
                defer { close(file) }
                try Program.writes("text", to: file)
                let syncs = mount.session.syncs
                let (fsyncs, waits) = try mount.vault.committing.withLock { _ in
                    let fsyncs = try begin { fsync(file) }
                    while syncs.groupCount == 0 { usleep(1_000) }
                    let waits = try begin { _ = mount.session.awaitAnswers() }
                    #expect(!hasEnded(waits, milliseconds: 300), "an fsync was not answered")
                    return (fsyncs, waits)
                }
                #expect(hasEnded(fsyncs, milliseconds: 90_000) && hasEnded(waits, milliseconds: 90_000))
            }
        }

        /// Mounts a vault with a file that has been stored.
        private func withFile(_ body: (LiveMount, _ file: Int32, Node) throws -> Void) throws {
            try LiveMount.run { mount in
                let file = try Program.opens(mount.path("file"), O_RDWR | O_CREAT)
                defer { close(file) }
                try Program.writes("text", to: file)
                try Program.syncs(file)
                try body(mount, file, Node(number: UInt64(try Program.status(file).st_ino)))
            }
        }

        /// A write that failed is known until its range is stored, whoever has heard of the failure.
        @Test func failedWritesAreKnown() throws {
            try withFile { mount, file, node in
                #expect(mount.session.failedFiles == [])
                mount.session.failedWrites.add(0..<4096, of: node)
                mount.session.failedWrites.add(8192..<9000, of: node)
                #expect(mount.session.failedFiles == [node])
                try Program.writes(String(repeating: "x", count: 5000), to: file)
                try Program.syncs(file)
                #expect(mount.session.failedFiles == [node])
                try Program.truncates(file, to: 6000)
                #expect(mount.session.failedFiles == [])
                mount.session.failedWrites.add(0..<10, of: Node(slot: 1, item: 12_345))
                #expect(mount.session.failedFiles == [], "there is no such item")
            }
        }

        /// A cached write that failed is stored from the kernel's copy; what the kernel has dropped is lost.
        @Test func failedWritesAreStoredFromTheKernel() throws {
            try LiveMount.run { mount in
                let file = try Program.opens(mount.path("file"), O_RDWR | O_CREAT)
                defer { close(file) }
                let text = String(repeating: "cached, and not stored ", count: 3000)
                try Program.writes(text, to: file)
                try Program.syncs(file)
                let item = try #require(Vault.existing("file", in: mount.vault))
                let node = Node(number: mount.inode(item))
                let count = Int64(text.utf8.count)
                // As if the vault had not taken it.
                let elsewhere = Elsewhere(mount)
                try elsewhere.append(String(repeating: "?", count: Int(count) - 100), to: item, at: 100)
                mount.session.failedWrites.add(100..<count, of: node)
                let hole: Range<Int64> = 16_384..<24_576
                #expect(posix_fadvise(file, Int(hole.lowerBound), hole.count, POSIX_FADV_DONTNEED) == 0)
                #expect(mount.session.closeGate())
                mount.session.storeFailedWrites()
                #expect(mount.session.failedFiles == [])
                #expect(mount.session.takeLostFiles() == [node])
                mount.session.openAgain()
                let stored = Array(try elsewhere.content("file").utf8)
                let wanted = Array(text.utf8)
                #expect(stored.count == wanted.count)
                let wrong = wanted.indices.filter { stored[$0] != wanted[$0] }
                #expect(wrong.allSatisfy { hole.contains(Int64($0)) } && wrong.count > 8000, "\(wrong.count)")
            }
        }

        /// What a program reads anew is not what was written, although the kernel has pages there again.
        @Test func whatIsReadAnewIsLost() throws {
            try withFile { mount, file, node in
                mount.session.failedWrites.add(0..<4, of: node)
                _ = try Program.reads(mount.path("file"))
                #expect(mount.session.failedFiles == [node], "the kernel has it")
                #expect(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0)
                _ = try Program.reads(mount.path("file"))
                #expect(mount.session.failedFiles == [])
                #expect(mount.session.takeLostFiles() == [node])
            }
        }

        /// A vault that has stopped takes nothing any more, so nothing is to be waited for.
        @Test func whatAStoppedVaultRefusesIsLost() throws {
            try withFile { mount, file, node in
                try Program.writes("more", to: file, at: 100)
                mount.vault.stop("a disk error")
                #expect(throws: Failed.self) { try Program.syncs(file) }
                #expect(!mount.session.failedWrites.isEmpty)
                #expect(mount.session.failedFiles == [])
                #expect(mount.session.takeLostFiles() == [node])
                #expect(mount.session.failedWrites.isEmpty)
            }
        }

        /// What certainly has no room is not attempted.
        @Test func roomIsJudgedBeforeAnAttempt() throws {
            try withFile { mount, file, node in
                #expect(!mount.session.lacksRoom)
                mount.session.failedWrites.add(0..<4, of: node)
                #expect(!mount.session.lacksRoom)
                mount.session.failedWrites.add(4..<1 << 60, of: node)
                #expect(mount.session.lacksRoom)
                mount.session.failedWrites.removeAll(of: node)
            }
        }

        /// A thread that was left waiting must drop nothing once programs are served again.
        @Test func anAttemptThatIsOverDropsNothing() throws {
            try LiveMount.run { mount in
                let files = try ["one", "two"].map { try Program.opens(mount.path($0), O_RDWR | O_CREAT) }
                defer { files.forEach { close($0) } }
                for file in files { try Program.writes("not stored yet", to: file) }
                #expect(mount.session.closeGate())
                #expect(!mount.session.closeGate { false })
                let before = mount.session.pageStoreCount
                mount.session.dropCaches { false }
                #expect(mount.session.pageStoreCount == before, "a page was dropped")
                let (areAllAnswered, _) = mount.session.storePages(while: { false }) {
                    Issue.record("pages are written")
                    return nil
                }
                #expect(!areAllAnswered)
                // Also in the middle of it.
                mount.session.dropCaches { mount.session.pageStoreCount == before }
                #expect(mount.session.pageStoreCount == before + 1)
                mount.session.dropCaches()
                #expect(mount.session.pageStoreCount == before + 2)
                mount.session.openAgain()
            }
        }

        /// A notification may wait for requests, and no signal ends it, nor the process that waits for its thread.
        @Test func requestsAreAnsweredUntilNotificationsEnd() throws {
            try LiveMount.run { mount in
                let (isUnderWay, mayEnd) = (Condition(false), Condition(false))
                let notifications = mount.session.notifications
                let notifies = try begin {
                    notifications.perform {
                        isUnderWay.update { $0 = true }
                        _ = mayEnd.wait { $0 ? true : nil }
                    }
                }
                _ = isUnderWay.wait { $0 ? true : nil }
                try CofferSystem.Thread.startDetached("ends") { [session = mount.session] in session.end() }
                usleep(300_000)
                let path = mount.path("no such file")
                let asks = try begin { _ = try? Program.status(path) }
                #expect(hasEnded(asks, milliseconds: 5_000), "nobody answers")
                mayEnd.update { $0 = true }
                #expect(hasEnded(notifies, milliseconds: 90_000))
            }
        }

        /// Behind the gate, a file's times may not make the next write(2) pass without a request.
        @Test func timesMakeNoAttributesValid() throws {
            try LiveMount.run { mount in
                let file = try Program.opens(mount.path("file"), O_RDWR | O_CREAT)
                defer { close(file) }
                try Program.writes("text", to: file)
                #expect(mount.session.closeGate())
                let times = [timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2), timespec(tv_sec: 5, tv_nsec: 0)]
                let before = mount.session.storeCount
                _ = futimens(file, times)
                #expect(mount.session.storeCount > before)
                #expect(throws: Failed(code: ENOKEY)) { try Program.writes("more", to: file) }
                mount.session.openAgain()
                try Program.writes("more", to: file)
            }
        }
    }
}

extension Vault {
    /// The number of an item in the root directory.
    fileprivate static func existing(_ name: String, in vault: Vault) -> Int64? {
        try? vault.lookup(Array(name.utf8), in: rootNumber).number
    }
}
