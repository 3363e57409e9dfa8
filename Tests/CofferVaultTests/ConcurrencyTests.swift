import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// Several threads in one vault, with its own threads running too.
@Suite struct ConcurrencyTests {
    private static let threadCount = 4

    /// Each thread has its own files; all share the directory, packs and commits.
    @Test(arguments: [UInt64(1), 2])
    func threadsDoNotDisturbEachOther(seed: UInt64) throws {
        let test = try TestVault.create()
        let vault = try test.open()
        try vault.start()
        let results = Condition([String: [UInt8]]())
        let failures = Condition([String]())
        let threads = try (0..<Self.threadCount).map { number in
            try Thread.start("worker \(number)") {
                do {
                    let files = try Self.work(in: vault, number, seed)
                    results.withLock { $0.merge(files) { one, _ in one } }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        let expected = results.withLock { $0 }
        let isSame = try vault.files() == expected
        #expect(isSame, "seed \(seed)")
        #expect(try vault.damage() == [], "seed \(seed)")
        try vault.close()
        let again = try test.on(test.directory.copy()).open()
        let isKept = try again.files() == expected
        #expect(isKept, "seed \(seed)")
        #expect(try again.damage() == [], "seed \(seed)")
    }

    private static func work(in vault: Vault, _ thread: Int, _ seed: UInt64) throws -> [String: [UInt8]] {
        var random = SplitMix64(seed: seed * 100 + UInt64(thread))
        var files: [String: [UInt8]] = [:]
        for step in 0..<120 {
            let name = "\(thread)-\(random.below(5))"
            switch random.below(8) {
            case 0...3:
                if files[name] == nil { _ = try vault.makeFile(name) }
                let offset = random.below((files[name]?.count ?? 0) + 1)
                let bytes = random.bytes(random.oneIn(6) ? random.below(400_000) : random.below(5000))
                try vault.put(bytes, to: try vault.number(of: name), at: offset)
                var content = files[name] ?? []
                content.replaceSubrange(offset..<min(content.count, offset + bytes.count), with: bytes)
                files[name] = content
            case 4:
                guard let content = files[name] else { continue }
                let isSame = try vault.content(of: try vault.number(of: name)) == content
                #expect(isSame, "thread \(thread), step \(step)")
            case 5:
                guard let content = files.removeValue(forKey: name) else { continue }
                if let replaced = try vault.move(name, to: "\(thread)-0") { vault.release(replaced) }
                files["\(thread)-0"] = content
            case 6:
                if files.removeValue(forKey: name) != nil { try vault.remove(name) }
            default: try vault.commit()
            }
        }
        return files
    }

    /// A check reads everything while other threads change everything; it reports no false damage.
    @Test func aCheckDuringChangesFindsNothing() throws {
        let vault = try TestVault.create().open()
        try vault.start()
        for number in 0..<10 { _ = try vault.makeFile("file \(number)", Pattern.make(100_000)) }
        let failures = Condition([String]())
        let thread = try Thread.start("changes") {
            var random = SplitMix64(seed: 3)
            for step in 0..<150 {
                do {
                    let name = "file \(random.below(10))"
                    if random.oneIn(5) {
                        try vault.remove(name)
                        _ = try vault.makeFile(name, random.bytes(random.below(300_000)))
                    } else {
                        try vault.put(
                            random.bytes(20_000), to: try vault.number(of: name), at: random.below(100_000))
                    }
                    if step % 10 == 9 { try vault.commit() }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        for round in 0..<4 { #expect(try vault.damage() == [], "round \(round)") }
        thread.join()
        #expect(failures.withLock { $0 } == [])
        #expect(try vault.damage() == [])
        try vault.close()
    }

    /// Threads append and commit, each to its own file; power cuts at any moment leave everything promised.
    @Test func promisedAppendsSurviveOtherThreads() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let files = try (0..<Self.threadCount).map { try vault.makeFile("\($0)") }
        try vault.commit()
        try vault.start()
        let promised = Condition([Int](repeating: 0, count: Self.threadCount))
        let failures = Condition([String]())
        let threads = try files.enumerated().map { index, file in
            try Thread.start("worker \(index)") {
                do {
                    for piece in 0..<250 {
                        try vault.put(Self.piece(piece), to: file, at: Self.pieceByteCount * piece)
                        try vault.commit()
                        promised.withLock { $0[index] = piece + 1 }
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        var cuts: [(directory: SimulatedStorageDirectory, promised: [Int])] = []
        while promised.withLock({ $0.contains { $0 < 250 } }), failures.withLock({ $0.isEmpty }) {
            let before = promised.withLock { $0 }
            cuts.append((test.directory.crash(seed: UInt64(cuts.count)), before))
            vault.pauseUpkeep()
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        #expect(vault.intents.recordCount > 100)
        for cut in cuts.enumerated().filter({ $0.offset % max(1, cuts.count / 25) == 0 }).map(\.element) {
            let left = try test.on(cut.directory).open()
            for (index, file) in files.enumerated() {
                let content = try left.content(of: file)
                #expect(content.count >= Self.pieceByteCount * cut.promised[index])
                let whole = (0..<250).flatMap(Self.piece)
                #expect(whole.starts(with: content))
            }
            #expect(try left.damage() == [])
        }
        try vault.close()
    }

    private static let pieceByteCount = 300

    private static func piece(_ number: Int) -> [UInt8] {
        Pattern.make(pieceByteCount, seed: UInt64(number))
    }
}
