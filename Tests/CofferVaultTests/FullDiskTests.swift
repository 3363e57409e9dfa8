import CofferFormat
import CofferSystem
import CofferTestSupport
import CofferVault
import Glibc
import Testing

import CofferStore

/// A full disk: timely errors, nothing torn, and a way out.
@Suite struct FullDiskTests {
    /// Fills a vault until it has no room; returns the names of the whole files.
    private func fill(_ vault: Vault) throws -> [String] {
        var names: [String] = []
        while names.count < 1000 {
            let name = "filler \(names.count)"
            let number = try vault.makeFile(name)
            do {
                try vault.put(Pattern.make(1 << 20, seed: UInt64(names.count)), to: number)
            } catch FileSystemError.noSpace {
                return names
            }
            names.append(name)
        }
        return names
    }

    @Test func aFullDiskIsReportedAndRemovingMakesRoom() throws {
        let test = try TestVault.create(byteCount: 32 << 20)
        let vault = try test.open()
        let kept = try vault.makeFile("kept", Pattern.make(100_000))
        let names = try fill(vault)
        #expect(names.count >= 4)
        try vault.commit()
        #expect(try vault.content(of: kept) == Pattern.make(100_000))
        for (index, name) in names.enumerated() {
            #expect(
                try vault.content(of: vault.number(of: name)) == Pattern.make(1 << 20, seed: UInt64(index)))
        }
        for name in names { try vault.remove(name) }
        try vault.commit()
        let number = try vault.makeFile("new", Pattern.make(1 << 20, seed: 7))
        try vault.commit()
        #expect(try vault.content(of: number) == Pattern.make(1 << 20, seed: 7))
        #expect(try vault.damage() == [])
        #expect(vault.stoppedReason == nil)
    }

    /// What a full disk keeps the background from doing is a problem until it is done.
    @Test func upkeepThatFailedIsNoProblemOnceItIsDone() throws {
        let test = try TestVault.create()
        let problems = ProblemLog()
        let vault = try test.open(problems: problems)
        func isProblem() -> Bool { problems.all.contains { $0.text.contains("Background upkeep failed") } }
        func soon(_ isTrue: () -> Bool) -> Bool {
            for _ in 0..<600 where !isTrue() { usleep(50_000) }
            return isTrue()
        }
        // So many extents that their removal takes more than one commit.
        let number = try vault.makeFile("large")
        for page in 0..<3000 { try vault.put(Pattern.make(100, seed: 1), to: number, at: page * 8192) }
        try vault.commit()
        _ = try vault.unlink(Array("large".utf8), in: Vault.rootNumber)
        try vault.commit()
        test.directory.fail(StorageFault([.write], code: ErrorNumber.noSpace, lasts: true))
        try vault.start()
        let isReported = soon(isProblem)
        #expect(isReported)
        test.directory.heal()
        let isOver = soon { !isProblem() }
        #expect(isOver)
        try vault.close()
    }

    /// Content that waits for room does not prevent a check of the rest.
    @Test func aFullDiskIsChecked() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        _ = try vault.makeFile("kept", Pattern.make(100_000, seed: 1))
        try vault.commit()
        test.directory.fail(StorageFault([.write], code: ErrorNumber.noSpace, lasts: true))
        _ = try vault.makeFile("new", Pattern.make(1000, seed: 2))
        let result = try vault.check { _, _ in }
        #expect(result.items == 3 && result.bytes == 101_000 && result.damage.isEmpty)
        let sentence = try #require(result.unchecked.first)
        #expect(result.unchecked.count == 1 && sentence.contains("no space left on the disk"), "\(sentence)")
        test.directory.heal()
        let again = try vault.check { _, _ in }
        #expect(again.items == 3 && again.damage.isEmpty && again.unchecked.isEmpty)
    }

    /// The disk fills up during a large write: the file stays, and each extent is old or new.
    @Test(arguments: 0..<6)
    func aLargeWriteThatFailsTearsNoExtent(skip: Int) throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let old = Pattern.make(5 << 20, seed: 1)
        let new = Pattern.make(5 << 20, seed: 2)
        let number = try vault.makeFile("a", old)
        try vault.commit()
        test.directory.fail(
            StorageFault([.write], path: "packs/", skip: skip, code: ErrorNumber.noSpace, lasts: true))
        #expect(
            fails("noSpace") {
                try vault.put(new, to: number)
                try vault.commit()
            } == (skip < 5))
        try expectOldOrNew(try vault.content(of: number), old, new, "skip \(skip)")
        test.directory.heal()
        try vault.commit()
        #expect(try vault.damage() == [], "skip \(skip)")
        try vault.put(new, to: number)
        try vault.commit()
        #expect(try vault.content(of: number) == new)
        let again = try test.on(test.directory.crash(seed: 1)).open()
        #expect(try again.content(of: number) == new)
        #expect(try again.damage() == [])
    }

    /// A small file that was overwritten before it found no room does not prevent removals.
    @Test func deadContentNeedsNoRoom() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let kept = try vault.makeFile("kept", Pattern.make(1000, seed: 1))
        try vault.commit()
        test.directory.fail(
            StorageFault([.write], path: "packs/", code: ErrorNumber.noSpace, lasts: true))
        let number = try vault.makeFile("small", Pattern.make(100_000, seed: 2))
        try vault.put(Pattern.make(100_000, seed: 3), to: number)
        #expect(fails("noSpace") { try vault.commit() })
        try vault.remove("small")
        try vault.commit()
        #expect(vault.stoppedReason == nil)
        #expect(try vault.content(of: kept) == Pattern.make(1000, seed: 1))
        test.directory.heal()
        #expect(try vault.damage() == [])
        #expect(try test.on(test.directory.crash(seed: 1)).open().names() == ["kept"])
    }

    /// Content that does not fit can be removed again, and then the vault continues.
    @Test func removingOversizedContentHelps() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let kept = try vault.makeFile("kept", Pattern.make(1 << 20, seed: 1))
        try vault.commit()
        test.directory.fail(
            StorageFault([.write], path: "packs/", code: ErrorNumber.noSpace, lasts: true))
        let large = try vault.makeFile("large", Pattern.make(3 << 20, seed: 2))
        #expect(fails("noSpace") { try vault.commit() })
        #expect(try vault.content(of: large) == Pattern.make(3 << 20, seed: 2))
        try vault.remove("large")
        try vault.commit()
        #expect(try vault.content(of: kept) == Pattern.make(1 << 20, seed: 1))
        test.directory.heal()
        #expect(try vault.damage() == [])
        let again = try test.on(test.directory.crash(seed: 1)).open()
        #expect(try again.names() == ["kept"])
        #expect(try again.damage() == [])
    }

    private func expectOldOrNew(_ found: [UInt8], _ old: [UInt8], _ new: [UInt8], _ comment: Comment) throws {
        try #require(found.count == old.count, comment)
        for start in stride(from: 0, to: old.count, by: 1 << 20) {
            let range = start..<start + (1 << 20)
            let isWhole =
                haveSameBytes(found[range], old[range]) || haveSameBytes(found[range], new[range])
            #expect(isWhole, comment)
        }
    }

    /// No byte is free, not even for the log: removing works, and is durable once there is room.
    @Test func removingWorksWithoutAnyRoom() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        for name in 0..<50 { _ = try vault.makeFile("\(name)", Pattern.make(3000)) }
        try vault.commit()
        test.directory.limit(to: test.directory.usedByteCount)
        for name in 0..<40 { try vault.remove("\(name)") }
        #expect(try vault.names().count == 10)
        #expect(fails("noSpace") { try vault.commit() })
        #expect(vault.stoppedReason == nil)
        test.directory.limit(to: nil)
        try vault.commit()
        let again = try test.on(test.directory.crash(seed: 1)).open()
        #expect(try again.names().count == 10)
        #expect(try again.damage() == [])
    }

    /// The next commit returns the space that a commit without room for the log freed.
    @Test func spaceIsGivenBackAfterACommitWithoutRoom() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        _ = try vault.makeFile("a", Pattern.make(40 << 20))
        _ = try vault.makeFile("b", Pattern.make(1 << 20))
        try vault.commit()
        try vault.remove("a")
        test.directory.fail(
            StorageFault([.write], path: "index.sqlite-wal", code: ErrorNumber.noSpace, lasts: true))
        #expect(fails("noSpace") { try vault.commit() })
        #expect(test.directory.usedByteCount > 40 << 20)
        test.directory.heal()
        try vault.commit()
        #expect(test.directory.usedByteCount < 16 << 20)
        #expect(try vault.damage() == [])
    }

    /// Counts its callers, and has nothing to give.
    private final class WantedReserve: DiskReserve {
        let count = Condition(0)

        func release() -> Bool {
            count.withLock { $0 += 1 }
            return false
        }

        func restore() {}
    }

    @Test func aSnapshotCanBeRemoved() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let reserve = WantedReserve()
        vault.setReserve(reserve)
        try vault.history.set(.forever)
        try vault.history.addSnapshot(try #require(SnapshotName("name")))
        test.directory.fail(
            StorageFault([.write], path: "index.sqlite-wal", code: ErrorNumber.noSpace, lasts: true))
        #expect(fails("noSpace") { try vault.history.removeSnapshot(Array("name".utf8)) })
        #expect(reserve.count.withLock { $0 > 0 })
        test.directory.heal()
        try vault.commit()
        #expect(try vault.history.snapshots() == [])
        #expect(try vault.damage() == [])
    }

    enum Change: CaseIterable {
        case append, truncate, punch, remove
    }

    /// The reserve is for changes that make room, not for additions to the last page of a file.
    @Test(arguments: Change.allCases) func theReserveIsForRemovals(change: Change) throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let reserve = WantedReserve()
        vault.setReserve(reserve)
        let number = try vault.makeFile("a", Pattern.make(10_000, seed: 1))
        try vault.commit()
        // A new file needs a commit of the index.
        _ = try vault.makeFile("b", Pattern.make(100, seed: 2))
        test.directory.fail(
            StorageFault([.write], path: "index.sqlite-wal", code: ErrorNumber.noSpace, lasts: true))
        switch change {
        case .append: try vault.put(Pattern.make(2000, seed: 3), to: number, at: 9000)
        case .truncate:
            var changes = AttributeChanges()
            changes.size = 5000
            _ = try vault.setAttributes(of: number, changes)
        case .punch: try vault.contents.allocate(.punchHole, of: number, 4096..<8192, by: TestVault.owner)
        case .remove: try vault.remove("a")
        }
        #expect(fails("noSpace") { try vault.commit() })
        #expect(reserve.count.withLock { $0 > 0 } == (change != .append))
        #expect(vault.stoppedReason == nil)
        test.directory.heal()
        try vault.commit()
        #expect(try vault.damage() == [])
    }

    /// A commit that finds no room neither loses nor half applies small writes that wait in memory.
    @Test func aCommitWithoutRoomKeepsWaitingWrites() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let number = try vault.makeFile("a", Pattern.make(300_000, seed: 1))
        try vault.commit()
        test.directory.limit(to: test.directory.usedByteCount + 4096)
        try? vault.put(Pattern.make(200_000, seed: 2), to: number, at: 50_000)
        let expected = try vault.content(of: number)
        for _ in 0..<3 { #expect(fails("noSpace") { try vault.commit() }) }
        #expect(try vault.content(of: number) == expected)
        test.directory.limit(to: nil)
        try vault.commit()
        let again = try test.on(test.directory.crash(seed: 1)).open()
        #expect(try again.content(of: number) == expected)
        #expect(try again.damage() == [])
    }

    @Test func reservingMoreThanThereIsFails() throws {
        let vault = try TestVault.create(byteCount: 32 << 20).open()
        let number = try vault.makeFile("a")
        #expect(
            fails("noSpace") {
                try vault.contents.allocate(
                    .reserve(keepsSize: false), of: number, 0..<(64 << 20), by: TestVault.owner)
            })
        #expect(try vault.attributes(of: number).size == 0)
        try vault.contents.allocate(
            .reserve(keepsSize: false), of: number, 0..<(4 << 20), by: TestVault.owner)
        #expect(try vault.attributes(of: number).size == 4 << 20)
    }
}
