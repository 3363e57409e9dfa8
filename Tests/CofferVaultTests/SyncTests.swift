import CofferSystem
import CofferTestSupport
import Testing

import CofferVault

/// The disk calls of a commit, and their order.
@Suite struct SyncTests {
    private static let log = "index.sqlite-wal"
    private static let intents = "intents"
    private let test: TestVault
    private let vault: Vault
    private let number: Int64

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
        number = try vault.makeFile("a", [1, 2, 3])
        try vault.commit()
        try vault.put([4], to: number, at: 3)
        try vault.commit()
        try vault.commitWhole()
        test.directory.resetStatistics()
    }

    @Test func aSmallAppendIsCommittedWithOneFlush() throws {
        for round in 0..<20 {
            try vault.put(Pattern.make(4096), to: number, at: 4 + round * 4096)
            test.directory.resetStatistics()
            try vault.commit()
            #expect(test.directory.statistics.flushed == [Self.intents], "round \(round)")
            #expect(test.directory.statistics[.dataSync] == 1)
            #expect(test.directory.statistics[.write] <= (round % 16 == 0 ? 2 : 1))
        }
    }

    @Test func contentInTheIntentLogIsNotWrittenAgain() throws {
        try vault.put([5], to: number, at: 4)
        try vault.commit()
        test.directory.resetStatistics()
        try vault.commit()
        #expect(test.directory.statistics.total == 0)
        try vault.commitWhole()
        #expect(test.directory.statistics.flushed == [Self.log])
    }

    @Test func aCommitOfNothingCallsNothing() throws {
        try vault.commit()
        test.directory.resetStatistics()
        try vault.commit()
        #expect(test.directory.statistics.total == 0)
    }

    @Test func creatingManyFilesTakesOneFlush() throws {
        for name in 0..<100 { _ = try vault.makeFile("file \(name)", [1, 2, 3]) }
        test.directory.resetStatistics()
        try vault.commit()
        #expect(test.directory.statistics.flushed == [Self.log])
    }

    /// The log must not be on disk before the packs that it refers to.
    @Test func packsAndTheirNamesAreFlushedBeforeTheLog() throws {
        try vault.put(Pattern.make(3_000_000), to: number)
        test.directory.resetStatistics()
        try vault.commit()
        let flushed = test.directory.statistics.flushed
        #expect(flushed.last == Self.log)
        #expect(flushed.dropLast().allSatisfy { $0.hasPrefix("packs/") })
        #expect(flushed.contains("packs/") || flushed.count == 2)
    }

    @Test func readingFlushesAndWritesNothing() throws {
        try vault.put(Pattern.make(3_000_000), to: number)
        try vault.commit()
        test.directory.resetStatistics()
        #expect(try vault.content(of: number) == Pattern.make(3_000_000))
        #expect(test.directory.statistics.count(StorageCall.changes) == 0)
    }
}
