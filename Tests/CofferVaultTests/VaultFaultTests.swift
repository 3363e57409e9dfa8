import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// Makes the Nth call of the storage fail, for every N, and checks the result.
@Suite struct VaultFaultTests {
    /// The commits, and the attempted commit, until a failure.
    private struct History {
        var commits: [[String: [UInt8]]]
        var promised = 0
    }

    /// The calls that a full disk makes fail.
    private static let growingCalls: Set<StorageCall> = [.write, .open, .dataSync, .sync, .preallocate]

    @Test(arguments: [ErrorNumber.inputOutput, ErrorNumber.noSpace], [false, true])
    func anyCallMayFail(code: Int32, lasts: Bool) throws {
        let first = try makeVault()
        for number in stride(from: 0, to: 10_000, by: lasts ? 3 : 1) {
            let test = first.on(first.directory.copy())
            let vault = try test.open()
            let calls = code == ErrorNumber.noSpace ? Self.growingCalls : nil
            test.directory.fail(StorageFault(calls, skip: number, code: code, lasts: lasts))
            let history = run(vault)
            let hasFailed = test.directory.statistics.failures > 0
            try expectCommit(test.crashed(seed: UInt64(number)), history, "call \(number)")
            test.directory.heal()
            try expectNothingElseIsKept(vault, test, history, "call \(number)")
            if !hasFailed { return }
        }
        Issue.record("The scenario does not end.")
    }

    /// The disk is full after any number of pages; below 8 MiB (2,048 of them) only the index may grow.
    @Test(arguments: [0..<24, 2044..<2100])
    func theDiskMayBeFullAtAnyPage(pages: Range<Int>) throws {
        let first = try makeVault()
        for free in pages {
            let test = first.on(first.directory.copy())
            let vault = try test.open()
            test.directory.limit(to: test.directory.usedByteCount + free * 4096)
            let history = run(vault)
            try expectCommit(test.crashed(seed: UInt64(free)), history, "\(free) pages")
            #expect(vault.stoppedReason == nil, "\(free) pages")
            test.directory.limit(to: nil)
            try expectNothingElseIsKept(vault, test, history, "\(free) pages")
        }
    }

    private func makeVault() throws -> TestVault {
        let test = try TestVault.create()
        let vault = try test.open()
        _ = try vault.makeFile("old", Pattern.make(100_000))
        _ = try vault.makeFile("small", Pattern.make(500))
        try vault.close()
        return test
    }

    /// Changes of all sizes with commits, a move of the log and a compaction in between; ends where
    /// something fails.
    private func run(_ vault: Vault) -> History {
        var files = ["old": Pattern.make(100_000), "small": Pattern.make(500)]
        var history = History(commits: [files])
        func commit() throws {
            history.commits.append(files)
            try vault.commit()
            history.promised = history.commits.count - 1
        }
        do {
            _ = try vault.makeFile("new", Pattern.make(300_000, seed: 2))
            files["new"] = Pattern.make(300_000, seed: 2)
            try vault.put(Pattern.make(5000, seed: 3), to: try vault.number(of: "old"), at: 10_000)
            files["old"]?.replaceSubrange(10_000..<15_000, with: Pattern.make(5000, seed: 3))
            try commit()
            for piece in 0..<20 {
                let bytes = Pattern.make(3000, seed: UInt64(piece))
                try vault.put(bytes, to: try vault.number(of: "small"), at: 500 + piece * 3000)
                files["small", default: []] += bytes
                if piece % 8 == 7 { try commit() }
            }
            for piece in 20..<28 {
                let bytes = Pattern.make(3000, seed: UInt64(piece))
                try vault.put(bytes, to: try vault.number(of: "small"), at: 500 + piece * 3000)
                files["small", default: []] += bytes
                try commit()
            }
            #expect(vault.intents.recordCount >= 8)
            vault.expectLogToBeMoved()
            try commit()
            if let replaced = try vault.move("new", to: "old") { vault.release(replaced) }
            files["old"] = files.removeValue(forKey: "new")
            try commit()
            try vault.moveLog()
            try vault.truncate(try vault.number(of: "small"), to: 100)
            files["small"]?.removeLast(84_400)
            try vault.remove("old")
            files["old"] = nil
            try vault.compact()
            try commit()
        } catch {}
        return history
    }

    /// A power cut leaves the last promised commit, or a later one.
    private func expectCommit(_ left: TestVault, _ history: History, _ comment: Comment) throws {
        left.directory.heal()
        let vault = try left.open()
        let files = try vault.files()
        let isThere = history.commits[history.promised...].contains(files)
        #expect(isThere, comment)
        #expect(try vault.damage() == [], comment)
    }

    /// If the vault continues, the next commit keeps what it shows; otherwise nothing more is kept.
    private func expectNothingElseIsKept(
        _ vault: Vault, _ test: TestVault, _ history: History, _ comment: Comment
    ) throws {
        // The part of the log in memory is written first, or there would be no room for more. A write that
        // failed in another thread is reported now.
        if vault.stoppedReason == nil {
            do {
                try vault.commit()
            } catch FileSystemError.noSpace {
                // Nothing changed.
            } catch {
                #expect(vault.stoppedReason != nil, comment)
            }
        }
        guard vault.stoppedReason == nil else {
            #expect(fails("readOnly") { _ = try vault.makeFile("more") }, comment)
            return
        }
        _ = try vault.makeFile("more", Pattern.make(1000))
        try vault.commit()
        let shown = try vault.files()
        let again = try test.crashed(seed: 1).open()
        let isSame = try again.files() == shown
        #expect(isSame, comment)
        #expect(try again.damage() == [], comment)
    }
}
