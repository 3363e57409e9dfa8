import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Re-encryption of content of older epochs under the newest one.
@Suite struct ReencryptionTests {
    /// Files of all kinds, with their content: small, large, in pieces, with a hole.
    private func files(in vault: Vault) throws -> [Int64: [UInt8]] {
        var contents = (0..<20).map { Pattern.make(10 + $0 * 3000, seed: UInt64($0)) }
        contents.append(Pattern.make(3_500_000))
        contents.append([])
        var files: [Int64: [UInt8]] = [:]
        for (index, content) in contents.enumerated() {
            files[try vault.makeFile("file \(index)", content)] = content
        }
        let pieces = try vault.makeFile("pieces")
        var content = [UInt8](repeating: 0, count: 3_000_000 + 700)
        for index in 0..<31 {
            let bytes = Pattern.make(700, seed: UInt64(index))
            try vault.put(bytes, to: pieces, at: index * 100_000)
            content.replaceSubrange(index * 100_000..<index * 100_000 + 700, with: bytes)
        }
        files[pieces] = content
        return files
    }

    /// Runs it to the end; returns the number of re-encrypted bytes.
    @discardableResult
    private func reencrypt(_ vault: Vault, step: Int64 = 500_000) throws -> Int64 {
        var done: Int64 = 0
        for _ in 0..<1000 {
            let progress = try vault.repacking.reencrypt(byteCountMax: step)
            done += progress.byteCount
            #expect(progress.byteCount <= step + Int64(ExtentLayout.byteCountMax))
            if progress.isAtEnd { return done }
        }
        Issue.record("it does not end")
        return done
    }

    @Test func programsDoNotNoticeReencryption() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let files = try files(in: vault)
        let open = try vault.makeFile("open", [1, 2, 3])
        _ = try vault.unlink(Array("open".utf8), in: Vault.rootNumber)
        try vault.commit()
        let before = try files.keys.map { try vault.attributes(of: $0) }
        let total = try vault.repacking.epochUsage()
        #expect(total.keys.sorted() == [.first])
        let next = try test.freshKeys(2)
        try vault.adopt(next)
        #expect(try reencrypt(vault) == total[.first])
        try vault.commitIndex()
        #expect(try vault.repacking.epochUsage() == [Epoch(2): total[.first] ?? 0])
        #expect(try files.keys.map { try vault.attributes(of: $0) } == before)
        for (number, content) in files {
            #expect(try vault.content(of: number) == content)
            #expect(try vault.epochs(of: number).isSubset(of: [2]))
            if !content.isEmpty { #expect(try vault.contentState(of: number) == .local) }
        }
        #expect(try vault.get(open, count: 3) == [1, 2, 3])
        // There is nothing left to do.
        #expect(try reencrypt(vault) == 0)
        #expect(try vault.damage() == [])
        try vault.close()
        let again = try test.open(keys: next)
        for (number, content) in files { #expect(try again.content(of: number) == content) }
        // Nothing needs the old keys any more.
        #expect(again.epoch == Epoch(2))
    }

    @Test func reencryptionContinuesWhereItEnded() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let files = try files(in: vault)
        try vault.adopt(try test.freshKeys(2))
        let first = try vault.repacking.reencrypt(byteCountMax: 100_000)
        #expect(!first.isAtEnd)
        #expect(first.byteCount >= 100_000)
        try vault.commitIndex()
        let left = try #require(try vault.repacking.epochUsage()[.first])
        // Writes in the meantime use the new epoch anyway, and a newer epoch starts everything again.
        let other = try vault.makeFile("other", [1, 2, 3])
        #expect(try reencrypt(vault) == left)
        try vault.adopt(try test.freshKeys(3))
        _ = try vault.repacking.reencrypt(byteCountMax: 1)
        try vault.adopt(try test.freshKeys(4))
        try reencrypt(vault)
        try vault.commitIndex()
        #expect(try vault.repacking.epochUsage().keys.sorted() == [Epoch(4)])
        #expect(try vault.content(of: other) == [1, 2, 3])
        for (number, content) in files { #expect(try vault.content(of: number) == content) }
    }

    /// From a remote, with shared extents, and back: the other device reads the same, without a conflict.
    @Test func remoteContentIsReencryptedToo() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(5_000_000)
        let (a, b) = try devices.file(content)
        let copy = try devices.b.makeFile("copy")
        try devices.b.receive(try devices.a.send(a, to: devices.remote), as: copy, like: b)
        let next = try devices.testA.freshKeys(2)
        for vault in [devices.a, devices.b] { try vault.adopt(next) }
        #expect(try devices.b.missingByteCount(of: b) == content.count)
        devices.remote.fail(.timedOut)
        let none = try devices.b.repacking.reencrypt(byteCountMax: 1 << 30)
        #expect(none == .init(byteCount: 0, skippedByteCount: Int64(2 * content.count), isAtEnd: true))
        #expect(try devices.b.contentState(of: b) == .remoteOnly)
        devices.remote.fail(nil)
        #expect(try reencrypt(devices.b) == Int64(2 * content.count))
        for number in [b, copy] {
            #expect(try devices.b.epochs(of: number) == [2])
            let isSame = try haveSameBytes(devices.b.content(of: number), content)
            #expect(isSame)
        }
        try devices.a.receive(try devices.b.send(b, to: devices.remote), as: a)
        #expect(try devices.a.epochs(of: a) == [2])
        let isSame = try haveSameBytes(devices.a.content(of: a), content)
        #expect(isSame)
        for vault in [devices.a, devices.b] {
            #expect(try vault.indexProblems() == [])
            #expect(try vault.damage() == [])
        }
        // The content that was fetched for it can be evicted again.
        try devices.b.cache.evict(to: 0)
        #expect(try devices.b.contentState(of: b) == .remoteOnly)
    }

    @Test func writersGoOn() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let file = try vault.makeFile("file", Pattern.make(2_000_000))
        try vault.commit()
        try vault.adopt(try test.freshKeys(2))
        let failures = Condition([String]())
        let writer = try Thread.start("writer") {
            do {
                for piece in 0..<200 {
                    try vault.put(Pattern.make(9000, seed: UInt64(piece)), to: file, at: piece * 9973)
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        for _ in 0..<20 { try reencrypt(vault, step: 200_000) }
        writer.join()
        #expect(failures.withLock { $0 } == [])
        try reencrypt(vault)
        var content = Pattern.make(2_000_000)
        for piece in 0..<200 {
            content.replaceSubrange(
                piece * 9973..<piece * 9973 + 9000, with: Pattern.make(9000, seed: UInt64(piece)))
        }
        let isSame = try haveSameBytes(vault.content(of: file), content)
        #expect(isSame)
        #expect(try vault.epochs(of: file) == [2])
        #expect(try vault.damage() == [])
    }

    /// Power cuts in between leave every file whole, and the next mount continues.
    @Test(arguments: Seeds.first(8))
    func aCrashLeavesWholeFiles(seed: UInt64) throws {
        let test = try TestVault.create()
        var random = SplitMix64(seed: seed)
        let vault = try test.open()
        let files = try files(in: vault)
        try vault.commitIndex()
        let next = test.keys.followed(by: try test.freshKeys(2))
        try vault.adopt(next)
        let cuts = Condition<[SimulatedStorageDirectory]>([])
        let calls = Condition(0)
        let moments = Set((0..<6).map { _ in random.below(60) })
        test.directory.observe { [directory = test.directory] _, _ in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if moments.contains(call) {
                let left = directory.crash(seed: UInt64(call))
                cuts.withLock { $0.append(left) }
            }
        }
        while try !vault.repacking.reencrypt(byteCountMax: 300_000).isAtEnd {
            if random.oneIn(2) { try vault.commit() }
        }
        try vault.commitIndex()
        test.directory.observe(nil)
        for directory in cuts.withLock({ $0 }) + [test.directory.crash(seed: seed)] {
            let left = try test.on(directory).open(keys: next)
            for (number, content) in files {
                let isSame = try haveSameBytes(left.content(of: number), content)
                #expect(isSame, "seed \(seed)")
            }
            #expect(try left.damage() == [], "seed \(seed)")
            try reencrypt(left)
            try left.commitIndex()
            #expect(try left.repacking.epochUsage().keys.sorted() == [Epoch(2)], "seed \(seed)")
        }
    }

    @Test func oneDeviceReencrypts() {
        let logs = (1...4).map { LogID(low: UInt64($0), high: 0) }
        func whose(_ beginners: [LogID], _ writers: [LogID]) -> [LogID] {
            logs.filter { Reencryption.falls(to: $0, beginners: beginners, writers: writers) }
        }
        #expect(whose([logs[2], logs[1]], logs) == [logs[1]])
        #expect(whose([], [logs[3], logs[2]]) == [logs[2]])
        #expect(whose([], []).isEmpty)
    }
}
