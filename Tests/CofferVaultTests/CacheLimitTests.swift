import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore
@testable import CofferVault

/// A limit for local content that is also on a remote.
@Suite struct CacheLimitTests {
    private func cachedByteCount(_ vault: Vault, _ numbers: [Int64]) throws -> Int {
        try numbers.reduce(0) { count, number in
            try count
                + vault.rows(of: number).filter { $0.remote != 0 && $0.place != .remote }
                .reduce(0) { $0 + Int($1.length) }
        }
    }

    @Test(arguments: [6 << 20, 20 << 20] as [Int64])
    func aFileLargerThanTheLimitStreamsThrough(limit: Int64) throws {
        let devices = try TwoDevices()
        let content = Pattern.make(56 << 20)
        let (_, b) = try devices.file(content)
        try devices.b.commit()
        devices.b.cache.setCacheLimit(limit)
        try devices.b.start()
        let used = devices.testB.directory.usedByteCount
        devices.remote.forgetFetches()
        var most = 0
        for offset in stride(from: 0, to: content.count, by: 128 << 10) {
            let bytes = try WaitingRequest.read(b, at: offset, count: 128 << 10, in: devices.b)
            let isSame = haveSameBytes(bytes, Array(content[offset..<offset + (128 << 10)]))
            #expect(isSame)
            if offset % (1 << 20) == 0 { most = max(most, try cachedByteCount(devices.b, [b])) }
        }
        // A quarter more, plus what the prefetching threads bring at a time.
        #expect(most <= Int(limit) * 5 / 4 + (16 << 20))
        let fetched = devices.remote.state.withLock { $0.fetches.reduce(0) { $0 + $1.range.count } }
        // Prefetched content was not evicted before it was read.
        #expect(fetched < content.count * 5 / 4)
        devices.b.remoteReads.stop()
        try devices.b.cache.evictIfDue()
        #expect(try cachedByteCount(devices.b, [b]) <= Int(limit))
        try devices.b.commit()
        #expect(devices.testB.directory.usedByteCount < used + (32 << 20))
        #expect(try devices.b.damage() == [])
        try devices.b.close()
    }

    /// What is fetched for one part of a read makes the other parts go again.
    @Test func aReadOfThePastThatIsLargerThanTheLimitEnds() throws {
        let devices = try TwoDevices()
        let content = Pattern.make(5 << 20)
        let (_, b) = try devices.file(content)
        try devices.b.history.set(.forever)
        devices.b.cache.setCacheLimit(100_000)
        let view = try #require(try devices.b.history.view(at: .max))
        defer { view.close() }
        let buffer = AlignedBuffer(count: content.count)
        devices.remote.forgetFetches()
        #expect(try view.read(b, at: 0, count: content.count, into: buffer) == content.count)
        let isSame = buffer.withBytes(0..<content.count) { haveSameBytes($0.array, content) }
        #expect(isSame)
        let fetched = devices.remote.state.withLock { $0.fetches.reduce(0) { $0 + $1.range.count } }
        #expect(fetched < content.count * 5 / 4)
    }

    @Test func sentChangesCountToo() throws {
        let devices = try TwoDevices()
        devices.a.cache.setCacheLimit(4 << 20)
        try devices.a.cache.evictIfDue()
        let numbers = try (0..<4).map {
            try devices.a.makeFile("\($0)", Pattern.make(3 << 20, seed: UInt64($0)))
        }
        try devices.a.cache.evictIfDue()
        #expect(try numbers.allSatisfy { try devices.a.missingByteCount(of: $0) == 0 })
        for number in numbers { _ = try devices.a.send(number, to: devices.remote) }
        #expect(devices.a.cacheLimit.withLock { $0.isDue })
        try devices.a.cache.evictIfDue()
        #expect(!devices.a.cacheLimit.withLock { $0.isDue })
        #expect(try cachedByteCount(devices.a, numbers) <= 4 << 20)
        for (seed, number) in numbers.enumerated() {
            let isSame = try haveSameBytes(
                devices.a.content(of: number), Pattern.make(3 << 20, seed: UInt64(seed)))
            #expect(isSame)
        }
        // Without a limit, nothing is evicted any more.
        devices.a.cache.setCacheLimit(nil)
        for number in numbers { _ = try devices.a.content(of: number) }
        try devices.a.cache.evictIfDue()
        #expect(try cachedByteCount(devices.a, numbers) == 12 << 20)
    }

    /// A small content that was evicted before it was in a pack leaves its place to the next one, which stays
    /// whole even if it is there before the eviction is on disk.
    @Test func aPlaceThatAnotherContentHasTakenIsNotFreed() throws {
        let devices = try TwoDevices()
        let (vault, disk) = (devices.b, devices.testB.directory)
        let (_, number) = try devices.file(Pattern.make(PackFile.pageByteCount * 3 / 2, seed: 1))
        let large = Pattern.make(1 << 20, seed: 2)
        _ = try vault.makeFile("first", large)
        try vault.commit()
        // What is fetched is not on disk yet.
        _ = try vault.content(of: number)
        let other = Condition<Int64?>(nil)
        disk.observe { call, path in
            guard call == .dataSync, path.hasSuffix("-wal"), other.withLock({ $0 }) == nil else { return }
            other.withLock { $0 = try? vault.makeFile("other", large) }
            try? vault.writer.finish()
        }
        try vault.cache.evict(to: 0)
        disk.observe(nil)
        #expect(try cachedByteCount(vault, [number]) == 0)
        let written = try #require(other.withLock { $0 })
        try vault.commit()
        #expect(try vault.content(of: written) == large)
        #expect(try vault.damage() == [])
    }
}
