import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Records that a crash left in the intent log are replayed once, whole, and only in their vault.
@Suite struct IntentReplayTests {
    private let test: TestVault
    private let vault: Vault
    private let number: Int64

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
        number = try vault.makeFile("a", [0])
        try vault.commit()
    }

    /// Appends `byte` and commits.
    private func append(_ byte: UInt8) throws {
        try vault.put([byte], to: number, at: Int(try vault.attributes(of: number).size))
        try vault.commit()
    }

    private func content(_ left: TestVault) throws -> [UInt8] {
        let again = try left.open()
        defer { try? again.close() }
        return try again.content(of: number)
    }

    /// A power cut at any call of the replay.
    @Test(arguments: [UInt64](0..<5))
    func aCrashDuringTheReplayChangesNothing(seed: UInt64) throws {
        for byte in 1...4 { try append(UInt8(byte)) }
        let left = test.crashed(seed: seed)
        let cuts = Condition([SimulatedStorageDirectory]())
        left.directory.observe { [directory = left.directory] _, _ in
            cuts.withLock { $0.append(directory.crash(seed: seed + UInt64($0.count))) }
        }
        let again = try left.open()
        left.directory.observe(nil)
        #expect(try again.content(of: number) == [0, 1, 2, 3, 4])
        let all = cuts.withLock { $0 }
        #expect(all.count > 20)
        for (call, cut) in all.enumerated() {
            #expect(try content(test.on(cut)) == [0, 1, 2, 3, 4], "call \(call)")
        }
    }

    /// Each call of the replay fails once: the vault does not open, or is read-only, or has everything.
    @Test(arguments: [ErrorNumber.inputOutput, ErrorNumber.noSpace])
    func aFailureDuringTheReplayLosesNothing(code: Int32) throws {
        for byte in 1...4 { try append(UInt8(byte)) }
        let left = test.crashed(seed: 1)
        for call in 0..<1000 {
            let copy = left.on(left.directory.copy())
            copy.directory.fail(StorageFault(skip: call, code: code))
            if let again = try? copy.open() {
                _ = try? again.makeFile("more")
                try? again.commit()
            }
            let hasFailed = copy.directory.statistics.failures > 0
            copy.directory.heal()
            for seed in UInt64(0)..<3 {
                #expect(try content(copy.crashed(seed: seed)) == [0, 1, 2, 3, 4], "call \(call)")
            }
            if !hasFailed { return }
        }
        Issue.record("The scenario does not end.")
    }

    /// The commit is written and not synced: the records still count, or the commit does.
    @Test func aCutBetweenCommitAndSyncLosesNothing() throws {
        for byte in 1...3 { try append(UInt8(byte)) }
        let cuts = Condition([SimulatedStorageDirectory]())
        test.directory.observe { [directory = test.directory] call, path in
            guard call == .dataSync, path == "index.sqlite-wal" else { return }
            cuts.withLock { cuts in
                for seed in UInt64(0)..<20 { cuts.append(directory.crash(seed: seed)) }
            }
        }
        try vault.commitIndex()
        test.directory.observe(nil)
        let all = cuts.withLock { $0 }
        #expect(all.count == 20)
        for cut in all { #expect(try content(test.on(cut)) == [0, 1, 2, 3]) }
    }

    /// The last commit of a dead process may be only in the kernel's memory, so records may not be built on it.
    @Test func aCommitThatIsNotOnDiskIsNotBuiltOn() throws {
        for byte in 1...3 { try append(UInt8(byte)) }
        test.directory.fail(
            StorageFault([.write], path: "index.sqlite-wal", code: ErrorNumber.noSpace, lasts: true))
        try vault.put([4], to: number, at: 4)
        _ = try vault.makeFile("b")
        #expect(fails("noSpace") { try vault.commit() })
        try vault.put([5], to: number, at: 5)
        #expect(fails("noSpace") { try vault.commit() })
        test.directory.heal()
        for seed in UInt64(0)..<20 {
            let found = try content(test.crashed(seed: seed))
            #expect(found.starts(with: [0, 1, 2, 3]), "seed \(seed)")
        }
        try vault.commit()
        #expect(try content(test.crashed(seed: 1)) == [0, 1, 2, 3, 4, 5])
    }

    /// The intent log from before a commit is put back: the index already has its records.
    @Test func olderRecordsAreNotReplayed() throws {
        for byte in 1...3 { try append(UInt8(byte)) }
        let older = test.directory.bytes(of: "intents")
        try vault.put([9, 9, 9], to: number)
        try vault.commitIndex()
        try vault.put([7], to: number, at: 3)
        try vault.commit()
        let left = test.crashed(seed: 1)
        #expect(try content(left.on(left.directory.copy())) == [9, 9, 9, 7])
        left.directory.overwrite("intents", at: 0, with: older)
        let again = try left.open()
        #expect(try again.content(of: number) == [9, 9, 9, 3])
        #expect(try again.damage() == [])
    }

    /// Two histories from one copy have commits of the same number.
    @Test func recordsOfAnotherHistoryAreNotReplayed() throws {
        let copy = test.on(test.directory.copy())
        let other = try copy.open()
        for (vault, byte) in [(vault, UInt8(1)), (other, 2)] {
            _ = try vault.makeFile("b \(byte)")
            try vault.commitIndex()
        }
        let commits = [vault, other].map { $0.state.withLock { $0.index.base.commits } }
        #expect(commits[0] == commits[1])
        try append(5)
        try other.put([6], to: number, at: 1)
        try other.commit()
        #expect(other.intents.recordCount == 1)
        let left = test.crashed(seed: 1)
        left.directory.overwrite("intents", at: 0, with: copy.directory.bytes(of: "intents"))
        #expect(try content(left) == [0])
    }

    @Test func recordsOfAnotherVaultAreNotReplayed() throws {
        try append(1)
        let other = try TestVault.create()
        let second = try other.open()
        let file = try second.makeFile("a", [8])
        try second.commit()
        try second.put([8], to: file, at: 1)
        try second.commit()
        #expect(second.intents.recordCount == 1)
        let left = test.crashed(seed: 1)
        left.directory.overwrite("intents", at: 0, with: other.directory.bytes(of: "intents"))
        #expect(try content(left) == [0])
    }

    @Test func aDamagedRecordIsReportedIfOthersFollow() throws {
        for byte in 1...5 { try append(UInt8(byte)) }
        let left = test.crashed(seed: 1)
        left.directory.flip("intents", at: 2 * 4096 + 100)
        let problems = ProblemLog()
        let again = try left.open(problems: problems)
        #expect(try again.content(of: number) == [0, 1, 2])
        #expect(problems.all.map { $0.text.prefix(9) } == ["2 records"])
        #expect(try again.damage() == [])
    }

    /// A vault whose replay failed half-way commits nothing of it: the next mount tries again.
    @Test func aReplayThatFailedHalfWayIsRetried() throws {
        for byte in 1...3 { try append(UInt8(byte)) }
        let left = test.crashed(seed: 1)
        let again = try left.open()
        again.stop("as if taking up had failed")
        let before = again.state.withLock { $0.index.base }
        try again.start()
        #expect(again.state.withLock { $0.index.base } == before)
        again.upkeep.stop()
        #expect(fails("stopped") { try again.commit() })
    }

    /// A read-only mount shows the records, and changes nothing.
    @Test func aReadOnlyMountShowsThemAndWritesNothing() throws {
        for byte in 1...3 { try append(UInt8(byte)) }
        let left = test.crashed(seed: 1)
        let before = left.directory.bytes(of: "intents")
        for _ in 0..<2 {
            let again = try left.open(isReadOnly: true)
            #expect(try again.content(of: number) == [0, 1, 2, 3])
            #expect(try again.damage() == [])
            try again.close()
        }
        #expect(left.directory.bytes(of: "intents") == before)
        #expect(try content(left) == [0, 1, 2, 3])
    }

    /// No byte is free for the intent log: a commit of the index replaces it while there is room.
    @Test func aFullDiskCausesACommitOfTheIndex() throws {
        test.directory.fail(StorageFault([.write], path: "intents", code: ErrorNumber.noSpace, lasts: true))
        for byte in 1...5 { try append(UInt8(byte)) }
        #expect(vault.intents.recordCount == 0)
        #expect(vault.stoppedReason == nil)
        let left = test.crashed(seed: 1)
        left.directory.heal()
        #expect(try content(left) == [0, 1, 2, 3, 4, 5])
    }

    /// Replay without room: the records are shown, kept, and committed once there is room.
    @Test func aFullDiskKeepsTheRecords() throws {
        for byte in 1...3 { try append(UInt8(byte)) }
        let left = test.crashed(seed: 1)
        left.directory.limit(to: left.directory.usedByteCount)
        let again = try left.open()
        #expect(try again.content(of: number) == [0, 1, 2, 3])
        #expect(try content(left.on(left.directory.crash(seed: 2))) == [0, 1, 2, 3])
        left.directory.limit(to: nil)
        try again.commit()
        #expect(again.stoppedReason == nil)
        #expect(try content(left.crashed(seed: 3)) == [0, 1, 2, 3])
    }

    /// Records that only a holder of the keys could have made: none of them is applied, nothing traps.
    @Test(arguments: 0..<14)
    func inconsistentRecordsAreNotReplayed(kind: Int) throws {
        try append(1)
        let directory = try vault.makeDirectory("d")
        try vault.commitIndex()
        var row = try vault.state.withLock { try #require(try $0.tree.row(number)) }
        var (item, offset, epoch) = (number, Int64(0), Epoch.first)
        var fields: [UInt8]?
        switch kind {
        case 0: item = 999
        case 1: item = directory
        case 2: offset = 2
        case 3: offset = Int64.max - 1
        case 4: epoch = Epoch(2)
        case 5: row.number = 999
        case 6: row.size = -1
        case 7: row.size = Int64.max
        case 8: row.links = 0
        case 9: row.mode = Vault.directoryMode
        case 10: row.id = ItemID(low: 1, high: 1)
        case 11: fields = Array(row.fields.dropLast())
        case 12: row.flags = .hasAttributes
        default: row.target = [1]
        }
        var writer = vault.intents.makeWriter()
        let write = IntentRecord.Write(
            item: item, offset: offset, length: 1, prefixLow: 1, prefixHigh: 1, epoch: epoch)
        let sealed = [UInt8](repeating: 0, count: 17)
        let bytes = fields ?? row.fields
        let isWhole = writer.append(write, sealed: sealed.span.bytes) && writer.append(row: bytes.span.bytes)
        #expect(isWhole)
        #expect(try vault.intents.append(writer))
        try append(3)
        let problems = ProblemLog()
        let again = try test.crashed(seed: 1).open(problems: problems)
        #expect(try again.content(of: number) == [0, 1])
        #expect(problems.all.first?.text.contains("does not match") == true)
        #expect(problems.all.last?.text.hasPrefix("1 records") == true)
        #expect(try again.damage() == [])
    }
}
