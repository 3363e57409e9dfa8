import CofferFormat
import CofferSystem
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferFUSE

extension LiveMountTests {
    /// Many changes at once, while programs are busy.
    @Suite struct NotifierTests {
        /// Runs `body` on a thread of its own for each of `count`.
        private func threads(
            _ count: Int, _ body: @escaping @Sendable (Int) throws -> Void
        ) throws -> [CofferSystem.Thread] {
            try (0..<count).map { number in
                try CofferSystem.Thread.start("busy") {
                    do { try body(number) } catch { Issue.record(error) }
                }
            }
        }

        @Test func aBurstTakesBoundedMemory() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a")
                #expect(try Program.lists(mount.path()) == ["a"])
                let most = Condition(0)
                let isDone = Condition(false)
                let watcher = try threads(1) { _ in
                    while !isDone.withLock({ $0 }) {
                        let count = mount.session.notifier.waitingCount
                        most.withLock { $0 = max($0, count) }
                    }
                }
                try mount.vault.changeElsewhere { changes throws(FileSystemError) in
                    changes = (0..<100_000).map { .entry(elsewhere.name("name \($0)")) }
                }
                isDone.withLock { $0 = true }
                watcher[0].join()
                #expect(most.withLock { $0 } <= Notifier.waitingMax)
                mount.vault.awaitShown()
                #expect(mount.session.notifier.waitingCount == 0)
                #expect(try Program.lists(mount.path()) == ["a"])
            }
        }

        /// The kernel holds the directory's lock while a request is under way, and a notification waits for it.
        @Test func duringRequestsInTheSameDirectory() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let isDone = Condition(false)
                let busy = try threads(4) { number in
                    var round = 0
                    while !isDone.withLock({ $0 }) {
                        let path = mount.path("own \(number) \(round % 7)")
                        let file = try Program.opens(path, O_RDWR | O_CREAT)
                        try Program.writes("x", to: file)
                        try Program.closes(file)
                        _ = try Program.lists(mount.path())
                        _ = try? Program.status(mount.path("theirs \(round % 5)"))
                        _ = try? Program.reads(mount.path("theirs \(round % 5)"))
                        #expect(unlink(path) == 0)
                        round += 1
                    }
                }
                for round in 0..<300 {
                    let name = "theirs \(round % 5)"
                    if (try? elsewhere.number(name)) == nil {
                        try elsewhere.makes(name)
                        try elsewhere.replaces(name, with: "\(round)")
                    } else if round % 3 == 0 {
                        try elsewhere.removes(name)
                    } else {
                        try elsewhere.replaces(name, with: "\(round)")
                    }
                    let path = mount.path(name)
                    #expect((try? elsewhere.content(name)) == (try? Program.reads(path)))
                }
                isDone.withLock { $0 = true }
                for thread in busy { thread.join() }
                #expect(try Program.lists(mount.path()) == elsewhere.names().sorted())
            }
        }

        /// Programs change the same files as another device: whoever is last, all see the same state afterwards.
        @Test(arguments: Seeds.first(4))
        func theKernelShowsTheVaultInTheEnd(seed: UInt64) throws {
            var generator = SplitMix64(seed: seed)
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let busy = try threads(3) { number in
                    var generator = SplitMix64(seed: seed &* 4 &+ UInt64(number) &+ 1)
                    for _ in 0..<400 {
                        let path = mount.path("\(generator.below(6))")
                        switch generator.below(5) {
                        case 0: _ = unlink(path)
                        case 1: _ = rename(path, mount.path("\(generator.below(6))"))
                        case 2: _ = try? Program.lists(mount.path())
                        case 3: _ = try? Program.reads(path)
                        default:
                            let file = try Program.opens(path, O_RDWR | O_CREAT)
                            try Program.writes("local", to: file)
                            try Program.closes(file)
                        }
                    }
                }
                for _ in 0..<400 {
                    let name = "\(generator.below(6))"
                    switch generator.below(4) {
                    case 0: try? elsewhere.removes(name)
                    case 1: try? elsewhere.moves(name, to: "\(generator.below(6))")
                    case 2: _ = try? elsewhere.makes(name)
                    default: _ = try? elsewhere.replaces(name, with: "elsewhere \(name)")
                    }
                }
                for thread in busy { thread.join() }
                mount.vault.awaitShown()
                let names = try elsewhere.names()
                #expect(try Program.lists(mount.path()) == names.sorted(), "seed \(seed)")
                for name in names {
                    #expect(
                        try Program.reads(mount.path(name)) == elsewhere.content(name),
                        "\(name), seed \(seed)")
                    #expect(
                        try Program.status(mount.path(name)).st_ino == mount.inode(elsewhere.number(name)),
                        "\(name), seed \(seed)")
                }
            }
        }

        @Test(arguments: [false, true])
        func unmountingDuringABurst(isInUse: Bool) throws {
            var file: Int32 = -1
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let number = try elsewhere.makes("a", "one")
                if isInUse { file = try Program.opens(mount.path("a")) }
                let hasBegun = Condition(0)
                let isDone = Condition(false)
                let bursts = try threads(3) { thread in
                    var round = 0
                    while !isDone.withLock({ $0 }) {
                        try mount.vault.changeElsewhere { changes throws(FileSystemError) in
                            changes = [
                                .entry(elsewhere.name("\(thread) \(round)")), .entry(elsewhere.name("a")),
                                .growth(item: number, from: 0, elsewhere.name("a")),
                            ]
                        }
                        if round == 100 { hasBegun.update { $0 += 1 } }
                        round += 1
                    }
                }
                _ = hasBegun.wait { $0 == 3 ? true : nil }
                mount.end()
                isDone.withLock { $0 = true }
                for burst in bursts { burst.join() }
                mount.vault.awaitShown()
            }
            if isInUse { close(file) }
        }
    }
}
