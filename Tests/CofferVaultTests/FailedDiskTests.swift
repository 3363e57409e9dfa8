import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore
@testable import CofferVault

/// A failing disk: nothing is written afterwards, and readable content is read.
@Suite struct FailedDiskTests {
    private let test: TestVault
    private let vault: Vault
    private let number: Int64
    private let old = Pattern.make(2 << 20, seed: 1)

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
        number = try vault.makeFile("a", old)
        try vault.commit()
    }

    private func expectStopped(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(vault.stoppedReason != nil, sourceLocation: sourceLocation)
        #expect(
            vault.problems.all.contains { $0.text.contains("read-only until remounted") },
            sourceLocation: sourceLocation)
        #expect(fails("readOnly") { _ = try vault.makeFile("b") }, sourceLocation: sourceLocation)
        #expect(fails("readOnly") { try vault.put([1], to: number) }, sourceLocation: sourceLocation)
        #expect(throws: FileSystemError.self, sourceLocation: sourceLocation) { try vault.commit() }
        #expect(try vault.content(of: number).count == old.count, sourceLocation: sourceLocation)
    }

    /// A power cut leaves the committed state.
    private func expectOldAfterCrash(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for seed in 0..<8 {
            let left = test.directory.crash(seed: UInt64(seed))
            left.heal()
            let again = try test.on(left).open()
            let isOld = try again.content(of: number) == old
            #expect(isOld, "seed \(seed)", sourceLocation: sourceLocation)
            #expect(try again.damage() == [], "seed \(seed)", sourceLocation: sourceLocation)
        }
    }

    @Test func aFailedFlushOfAPackStopsWriting() throws {
        try vault.put(Pattern.make(2 << 20, seed: 2), to: number)
        test.directory.fail(StorageFault([.dataSync], path: "packs/", code: ErrorNumber.inputOutput))
        #expect(throws: FileSystemError.self) { try vault.commit() }
        try expectStopped()
        try expectOldAfterCrash()
    }

    /// The kernel reports a failed flush once and drops the pages: a second flush that succeeds means nothing.
    @Test func aFailedFlushOfTheLogStopsWriting() throws {
        try vault.put([1, 2, 3], to: number)
        test.directory.fail(
            StorageFault([.dataSync], path: "index.sqlite-wal", code: ErrorNumber.inputOutput))
        #expect(throws: FileSystemError.self) { try vault.commitIndex() }
        try expectStopped()
    }

    @Test(arguments: [StorageCall.write, .dataSync])
    func aFailedIntentLogStopsWriting(call: StorageCall) throws {
        try vault.put([1, 2, 3], to: number)
        try vault.commit()
        try vault.put([4, 5, 6], to: number, at: 3)
        test.directory.fail(StorageFault([call], path: "intents", code: ErrorNumber.inputOutput))
        #expect(throws: FileSystemError.self) { try vault.commit() }
        try expectStopped()
        for seed in 0..<8 {
            let left = test.directory.crash(seed: UInt64(seed))
            left.heal()
            let again = try test.on(left).open()
            #expect(try again.get(number, count: 3) == [1, 2, 3], "seed \(seed)")
            #expect(try again.damage() == [], "seed \(seed)")
        }
    }

    /// Closing the vault does not move a log that the disk may have lost in part.
    @Test func aStoppedVaultIsClosedWithoutAWrite() throws {
        let test = try TestVault.create()
        do {
            let vault = try test.open()
            _ = try vault.makeFile("a", Pattern.make(3000))
            try vault.commit()
            _ = try vault.makeFile("b", Pattern.make(3000))
            test.directory.fail(
                StorageFault([.dataSync], path: "index.sqlite-wal", code: ErrorNumber.inputOutput))
            #expect(throws: FileSystemError.self) { try vault.commit() }
            test.directory.heal()
            test.directory.resetStatistics()
            try vault.close()
        }
        #expect(test.directory.statistics.count(StorageCall.changes) == 0)
        let again = try test.open()
        #expect(try again.names().contains("a"))
        #expect(try again.damage() == [])
    }

    /// A program that does not know the format changes nothing.
    @Test func anIndexOfANewerVersionIsUnchanged() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        _ = try vault.makeFile("a")
        try vault.commit()
        try vault.state.withLock { try $0.index.database.execute("PRAGMA user_version = 7") }
        _ = try vault.makeFile("b")
        try vault.commit()
        let newer = test.on(test.directory.copy())
        newer.directory.resetStatistics()
        #expect {
            _ = try newer.open()
        } throws: {
            guard case FileSystemError.format(.newerVersion, _) = $0 else { return false }
            return true
        }
        #expect(newer.directory.statistics.count(StorageCall.changes) == 0)
    }

    /// Reading what a crash left changes nothing of it.
    @Test func aReadOnlyMountLeavesTheStoreUnchanged() throws {
        _ = try vault.makeFile("b", Pattern.make(2 << 20))
        try vault.commit()
        let left = test.crashed(seed: 1)
        _ = try left.directory.subdirectory("packs").open(PackID(low: 1, high: 1).description, create: true)
        let before = left.directory.paths.map { left.directory.bytes(of: $0) }
        do {
            let readOnly = try left.open(isReadOnly: true)
            try readOnly.start()
            #expect(try readOnly.names() == ["a", "b"])
            try readOnly.close()
        }
        #expect(left.directory.paths.map { left.directory.bytes(of: $0) } == before)
    }

    /// An unfinished check keeps the log in place, and nothing is lost.
    @Test func closingDuringACheckIsNoError() throws {
        let test = try TestVault.create()
        do {
            let vault = try test.open()
            _ = try vault.makeFile("a")
            try vault.commit()
            let reader = try vault.state.withLock { try $0.index.makeReader() }
            _ = try reader.size()
            _ = try vault.makeFile("b")
            try vault.close()
            #expect(try reader.size().items == 2)
        }
        let again = try test.open()
        #expect(try again.names() == ["a", "b"])
        #expect(try again.damage() == [])
    }

    /// Afterwards the vault shows the last commit, not a mixture with lost changes.
    @Test func aFailedWriteOfTheLogStopsWriting() throws {
        try vault.put([1, 2, 3], to: number, at: old.count)
        _ = try vault.makeFile("never kept")
        test.directory.fail(
            StorageFault([.write], path: "index.sqlite-wal", code: ErrorNumber.inputOutput))
        #expect(throws: FileSystemError.self) { try vault.commit() }
        try expectStopped()
        #expect(try vault.names() == ["a"])
        let isOld = try vault.content(of: number) == old
        #expect(isOld)
        try expectOldAfterCrash()
    }

    /// Writes arrive while a commit flushes; their own flush, under the vault's lock, fails.
    @Test func aFailedFlushOfWritesDuringACommitStopsWriting() throws {
        try vault.put(Pattern.make(2 << 20, seed: 2), to: number)
        let turns = Condition(0)
        test.directory.observe { [vault, number, directory = test.directory] call, path in
            guard call == .dataSync, path.hasPrefix("packs/") else { return }
            let turn = turns.withLock { turn in
                turn += 1
                return turn
            }
            if turn == 1 {
                try? vault.put(Pattern.make(1 << 20, seed: 3), to: number)
                directory.fail(
                    StorageFault([.dataSync], path: "packs/", skip: 1, code: ErrorNumber.inputOutput))
            }
        }
        #expect(throws: FileSystemError.self) { try vault.commit() }
        test.directory.observe(nil)
        try expectStopped()
        try expectOldAfterCrash()
    }

    /// A full disk during a move of the log does not damage the database, and writing continues.
    @Test func aLogWithoutRoomInTheDatabaseStaysWhole() throws {
        for name in 0..<200 { _ = try vault.makeFile("file \(name)", Pattern.make(500)) }
        vault.state.withLock { $0.logIsNearlyMoved = true }
        test.directory.observe { [directory = test.directory] call, path in
            if call == .write, path == "index.sqlite" {
                directory.fail(StorageFault([.write], path: path, code: ErrorNumber.noSpace))
            }
        }
        try? vault.commit()
        test.directory.observe(nil)
        test.directory.heal()
        for name in 200..<300 { _ = try? vault.makeFile("file \(name)", Pattern.make(500)) }
        let uncommitted = test.on(test.directory.crash(seed: 1))
        try expectSound(uncommitted, "not committed")
        if vault.stoppedReason == nil {
            try vault.commit()
            let committed = test.on(test.directory.crash(seed: 2))
            try expectSound(committed, "committed")
            #expect(try committed.open().names().count == 301)
        }
    }

    private func expectSound(_ test: TestVault, _ comment: Comment) throws {
        let vault = try test.open()
        #expect(try vault.damage() == [], comment)
    }

    /// SQLite rolls back the open transaction when it cannot read a page; nothing may be built on that.
    @Test func aFailedReadOfTheIndexStopsWritingAndKeepsTheLastCommit() throws {
        try vault.close()
        let copy = test.on(test.directory.copy())
        let again = try copy.open()
        _ = try again.makeFile("never kept", [1])
        copy.directory.fail(
            StorageFault([.read], path: "index.sqlite", code: ErrorNumber.inputOutput, lasts: true))
        #expect(throws: FileSystemError.self) {
            for name in 0..<50 {
                try again.setExtendedAttribute(Array("user.\(name)".utf8), of: number, to: [1], .any)
            }
            for name in 0..<50 { _ = try again.number(of: "missing \(name)") }
        }
        copy.directory.heal()
        _ = try? again.makeFile("later")
        again.release(number)
        try? again.commit()
        #expect(again.stoppedReason != nil)
        #expect(try again.names() == ["a"])
        let last = try copy.crashed(seed: 1).open()
        #expect(try last.damage() == [])
        #expect(try last.names() == ["a"])
    }

    /// A read that fails once causes one error.
    @Test func aFailedReadIsOnlyAnError() throws {
        test.directory.fail(StorageFault([.read], path: "packs/", code: ErrorNumber.inputOutput))
        #expect(fails("system") { _ = try vault.content(of: number) })
        #expect(try vault.content(of: number) == old)
        #expect(vault.stoppedReason == nil)
        try vault.put([1], to: number)
        try vault.commit()
    }
}
