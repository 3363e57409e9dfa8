import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Items without a name exist as long as they are in use, and are gone afterwards, even after a crash.
@Suite struct OrphanTests {
    @Test func anOpenFileWithoutANameReadsAndWrites() throws {
        let vault = try TestVault.create().open()
        let number = try vault.makeFile("a", [1, 2, 3])
        _ = try vault.unlink(Array("a".utf8), in: Vault.rootNumber)
        try vault.put([4], to: number, at: 3)
        try vault.commit()
        #expect(try vault.content(of: number) == [1, 2, 3, 4])
        #expect(try vault.damage() == [])
        vault.release(number)
        #expect(fails("stale") { _ = try vault.content(of: number) })
        try vault.commit()
        #expect(try vault.damage() == [])
    }

    @Test func orphansAreErasedAtReopening() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let large = try vault.makeFile("large", Pattern.make(3 << 20))
        let small = try vault.makeFile("small", [1])
        let directory = try vault.makeDirectory("directory")
        try vault.setExtendedAttribute(Array("user.a".utf8), of: small, to: [1], .any)
        for name in ["large", "small"] { _ = try vault.unlink(Array(name.utf8), in: Vault.rootNumber) }
        try vault.removeDirectory(Array("directory".utf8), in: Vault.rootNumber)
        try vault.commit()
        let left = test.crashed(seed: 1)
        try {
            let again = try left.open()
            #expect(again.state.withLock { $0.tree.orphans } == [large, small, directory])
            try again.start()
            try again.close()
        }()
        let again = try left.open()
        for number in [large, small, directory] {
            #expect(fails("stale") { _ = try again.attributes(of: number) })
        }
        #expect(again.state.withLock { $0.tree.orphans } == [])
        #expect(again.state.withLock { $0.packs.rows.reduce(0) { $0 + $1.live } } == 0)
        #expect(try again.damage() == [])
    }

    @Test func aLargeOrphanIsErasedInSlices() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let number = try vault.makeFile("large")
        for piece in 0..<3 { try vault.put(Pattern.make(5 << 20), to: number, at: piece * (60 << 20)) }
        _ = try vault.unlink(Array("large".utf8), in: Vault.rootNumber)
        try vault.repacking.eraseInSlices(number)
        #expect(fails("stale") { _ = try vault.attributes(of: number) })
        #expect(try vault.damage() == [])
        #expect(try test.on(test.directory.crash(seed: 3)).open().damage() == [])
    }

    /// The content of a file counts, not its nominal size.
    @Test func aSparseOrphanTakesFewCommits() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let number = try vault.makeFile("sparse")
        for piece in 0..<65 { try vault.put(Pattern.make(1 << 20), to: number, at: piece << 32) }
        _ = try vault.unlink(Array("sparse".utf8), in: Vault.rootNumber)
        try vault.commit()
        test.directory.resetStatistics()
        try vault.repacking.eraseInSlices(number)
        #expect(fails("stale") { _ = try vault.attributes(of: number) })
        let flushes = test.directory.statistics.flushed.count { $0 == "index.sqlite-wal" }
        #expect(flushes <= 3)
        #expect(try vault.damage() == [])
    }

    /// The log of many slices is moved between them, and does not grow until the last is done.
    @Test func theLogIsMovedWhileALargeOneGoes() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let number = try vault.makeFile("large")
        for piece in 0..<66_000 {
            try vault.put([UInt8](repeating: 1, count: 100), to: number, at: piece * 200)
        }
        _ = try vault.unlink(Array("large".utf8), in: Vault.rootNumber)
        try vault.commit()
        let moves = Condition(0)
        test.directory.observe { call, path in
            if call == .write, path == "index.sqlite" { moves.withLock { $0 += 1 } }
        }
        try vault.repacking.eraseInSlices(number)
        test.directory.observe(nil)
        #expect(moves.withLock { $0 } > 0)
        #expect(vault.state.withLock { $0.index.logFrameCount } < 3000)
    }

    /// An unmount does not wait for it; the next mount goes on.
    @Test func aLargeOrphanWaitsForTheNextMount() throws {
        let test = try TestVault.create()
        let number: Int64
        do {
            let vault = try test.open()
            number = try vault.makeFile("large")
            for piece in 0..<65 { try vault.put(Pattern.make(1 << 20), to: number, at: piece << 20) }
            _ = try vault.unlink(Array("large".utf8), in: Vault.rootNumber)
            vault.upkeep.stop()
            try vault.repacking.eraseInSlices(number)
            #expect(try vault.attributes(of: number).allocated == 65 << 20)
            try vault.close()
        }
        let again = try test.open()
        #expect(again.state.withLock { $0.tree.orphans } == [number])
        try again.repacking.eraseInSlices(number)
        try again.commit()
        #expect(again.state.withLock { $0.packs.rows.reduce(0) { $0 + $1.live } } == 0)
        #expect(try again.damage() == [])
    }

    /// A stopped vault does not change any more.
    @Test func nothingIsErasedOnceWritingHasStopped() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let number = try vault.makeFile("large")
        for piece in 0..<65 { try vault.put(Pattern.make(1 << 20), to: number, at: piece << 20) }
        _ = try vault.unlink(Array("large".utf8), in: Vault.rootNumber)
        try vault.commit()
        _ = try vault.makeFile("never kept")
        test.directory.fail(
            StorageFault([.write], path: "index.sqlite-wal", code: ErrorNumber.inputOutput))
        #expect(throws: FileSystemError.self) { try vault.commit() }
        test.directory.heal()
        test.directory.resetStatistics()
        #expect(fails("readOnly") { try vault.repacking.eraseInSlices(number) })
        #expect(test.directory.statistics.count(StorageCall.changes) == 0)
        #expect(try test.on(test.directory.copy()).open().damage() == [])
    }

    @Test func aCrashAfterTheReleaseLeavesNothingHalfErased() throws {
        for seed in 0..<10 {
            let test = try TestVault.create()
            let vault = try test.open()
            let number = try vault.makeFile("a", Pattern.make(2 << 20))
            try vault.commit()
            try vault.remove("a")
            if seed % 2 == 0 { try vault.commit() }
            let again = try test.crashed(seed: UInt64(seed)).open()
            #expect(try again.damage() == [], "seed \(seed)")
            #expect(try again.names() == (seed % 2 == 0 ? [] : ["a"]), "seed \(seed)")
            if seed % 2 == 1 { #expect(try again.content(of: number) == Pattern.make(2 << 20)) }
        }
    }
}
