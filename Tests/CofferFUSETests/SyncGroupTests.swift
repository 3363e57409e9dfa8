import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFUSE
@testable import CofferVault

extension LiveMountTests {
    /// Concurrent fsyncs during a flush.
    @Suite struct SyncGroupTests {
        /// Programs that each write to a file and sync it; a flush waits for the test.
        private struct Story {
            let mount: LiveMount
            private var count = 0
            /// The result of fsync(2) for each program.
            let answers = Condition<[Int32]>([])

            init(_ mount: LiveMount) {
                self.mount = mount
            }

            /// Starts a program that writes and syncs.
            mutating func syncs(_ name: String) throws {
                let (path, answers) = (mount.path(name), answers)
                let file = try Program.opens(path, O_RDWR | O_CREAT)
                try Program.writes("contents of \(name)", to: file)
                count += 1
                try CofferSystem.Thread.startDetached("syncs") {
                    let code = fsync(file) == 0 ? 0 : errno
                    answers.update { $0.append(code) }
                    // After the mount has ended, this waits until the session is gone.
                    close(file)
                }
            }

            /// The results of fsync(2); fewer than expected if the deadline passes.
            func ends() -> [Int32] {
                _ = eventually { answers.withLock { $0.count } == count }
                return answers.withLock { $0 }
            }
        }

        @Test func callersDuringAFlushShareTheNextOne() throws {
            try LiveMount.run { mount in
                var story = Story(mount)
                let syncs = mount.session.syncs
                try mount.vault.committing.withLock { _ in
                    try story.syncs("first")
                    #expect(eventually { syncs.groupCount == 1 && syncs.waitingCount == 0 })
                    for name in ["a", "b", "c"] { try story.syncs(name) }
                    #expect(eventually { syncs.waitingCount == 3 })
                    // No other program waits for the disk.
                    _ = try Program.status(mount.path("a"))
                    try Program.closes(Program.opens(mount.path("new"), O_RDWR | O_CREAT))
                    #expect(story.answers.withLock { $0 } == [])
                }
                #expect(story.ends() == [0, 0, 0, 0])
                #expect(syncs.groupCount == 2)
                let crashed = try mount.test.crashed(seed: 1).open()
                for name in ["first", "a", "b", "c"] {
                    #expect(try Elsewhere(crashed).content(name) == "contents of \(name)")
                }
            }
        }

        @Test func aFailedFlushIsReportedToTheWholeGroup() throws {
            try LiveMount.run { mount in
                var story = Story(mount)
                let syncs = mount.session.syncs
                try mount.vault.committing.withLock { _ in
                    try story.syncs("first")
                    #expect(eventually { syncs.groupCount == 1 && syncs.waitingCount == 0 })
                    for name in ["a", "b", "c"] { try story.syncs(name) }
                    #expect(eventually { syncs.waitingCount == 3 })
                    mount.vault.stop("the test says so")
                }
                #expect(story.ends().allSatisfy { $0 != 0 })
            }
        }

        @Test func aGroupThatWaitsAtTheEndOfTheMountIsStored() throws {
            try LiveMount.run { mount in
                var story = Story(mount)
                let syncs = mount.session.syncs
                let ended = Condition(false)
                var ending: CofferSystem.Thread?
                try mount.vault.committing.withLock { _ in
                    try story.syncs("first")
                    #expect(eventually { syncs.groupCount == 1 && syncs.waitingCount == 0 })
                    try story.syncs("a")
                    #expect(eventually { syncs.waitingCount == 1 })
                    ending = try CofferSystem.Thread.start("ending") {
                        mount.end()
                        ended.update { $0 = true }
                    }
                    usleep(100_000)
                    #expect(!ended.withLock { $0 })
                }
                ending?.join()
                #expect(story.ends() == [0, 0])
            }
        }
    }
}
