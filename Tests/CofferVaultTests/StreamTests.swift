import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// Sequential reads return the same bytes as plain reads.
@Suite struct StreamTests {
    /// A file of holes, small and large extents, overwritten parts, rows of the index, and a tail.
    private func makeFile(
        _ vault: Vault, _ name: String, _ random: inout SplitMix64, size: Int
    ) throws -> (number: Int64, bytes: [UInt8]) {
        let number = try vault.makeFile(name)
        var bytes = [UInt8](repeating: 0, count: size)
        func put(_ offset: Int, _ count: Int) throws {
            let piece = random.bytes(min(count, size - offset))
            try vault.put(piece, to: number, at: offset)
            bytes.replaceSubrange(offset..<offset + piece.count, with: piece)
        }
        try vault.truncate(number, to: size)
        var offset = 0
        while offset < size {
            if random.oneIn(6) { offset += random.below(600_000) }
            if offset >= size { break }
            let count = random.oneIn(3) ? 1 + random.below(60_000) : 1 + random.below(1_500_000)
            try put(offset, count)
            offset += count
            if random.oneIn(8) { try vault.commit() }
        }
        for _ in 0..<6 { try put(random.below(size), 1 + random.below(300_000)) }
        try vault.commit()
        for _ in 0..<3 {
            try put(random.below(size), 1 + random.below(30_000))
            if random.oneIn(2) { try vault.commit() }
        }
        if random.oneIn(2) { try put(random.below(size), 2_000_000) }
        return (number, bytes)
    }

    private func expectSame(
        _ found: [UInt8], _ expected: ArraySlice<UInt8>, _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(found.count == expected.count, comment, sourceLocation: sourceLocation)
        let isSame = haveSameBytes(found[...], expected)
        #expect(isSame, comment, sourceLocation: sourceLocation)
    }

    @Test(arguments: Seeds.first(6))
    func streamsReadTheWrittenBytes(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let test = try TestVault.create()
        let vault = try test.open()
        if random.oneIn(2) {
            // As on tmpfs.
            test.directory.fail(StorageFault([.openDirect], code: 22, lasts: true))
        }
        let size = 3_000_000 + random.below(6_000_000)
        let (number, bytes) = try makeFile(vault, "a", &random, size: size)
        for (step, depth) in [(128 << 10, 1), (128 << 10, 3), (1 << 20, 2), (50_000, 1)] {
            let (found, streamed) = try vault.stream(number, step: step, depth: depth)
            expectSame(found, bytes[...], "seed \(seed), step \(step)")
            #expect(streamed > 2, "seed \(seed), step \(step)")
            let start = random.below(size / 2)
            expectSame(
                try vault.stream(number, from: start, step: step, depth: depth).bytes, bytes[start...],
                "seed \(seed), step \(step), from \(start)")
        }
        #expect(vault.reported == [], "seed \(seed)")
        try vault.close()
    }

    /// More readers than streams, two of them of one file, each on a thread of its own.
    @Test func manyReadersAtATime() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        try vault.start()
        var random = SplitMix64(seed: 5)
        let files = try (0..<5).map { try makeFile(vault, "\($0)", &random, size: 5 << 20) }
        let failures = Condition([String]())
        let threads = try (0..<7).map { reader in
            try Thread.start("reader \(reader)") {
                let (number, bytes) = files[reader % 5]
                let start = reader < 5 ? 0 : 2_000_000
                do {
                    for _ in 0..<2 {
                        let (found, _) = try vault.stream(number, from: start, depth: 2)
                        if found[...] != bytes[start...] { failures.withLock { $0.append("\(reader)") } }
                    }
                } catch {
                    failures.withLock { $0.append("\(reader): \(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        try vault.close()
    }

    /// Every change of content discards what was read ahead.
    @Test func aStreamSeesEachChange() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let size = 4 << 20
        var bytes = Pattern.make(size, seed: 1)
        let number = try vault.makeFile("a", bytes)
        try vault.commit()
        let buffer = AlignedBuffer(count: 1 << 20)
        let piece = 128 << 10
        func read(_ offset: Int, _ count: Int = 128 << 10) throws -> [UInt8] {
            let (atOnce, request) = try vault.ask(number, at: offset, count: count, into: buffer)
            return try atOnce ?? request?.wait() ?? []
        }
        var place = 0
        for step in 0..<24 {
            expectSame(try read(place), bytes[place..<place + piece], "step \(step)")
            place += piece
            let near = place..<place + 60_000
            switch step % 6 {
            case 2:
                let new = Pattern.make(60_000, seed: UInt64(step))
                try vault.put(new, to: number, at: near.lowerBound)
                bytes.replaceSubrange(near, with: new)
            case 3:
                try vault.contents.allocate(
                    .punchHole, of: number, Int64(near.lowerBound)..<Int64(near.upperBound),
                    by: TestVault.owner)
                bytes.replaceSubrange(near, with: [UInt8](repeating: 0, count: 60_000))
            case 4:
                try vault.truncate(number, to: size - 100_000)
                try vault.truncate(number, to: size)
                bytes.replaceSubrange((size - 100_000)..., with: [UInt8](repeating: 0, count: 100_000))
            default: break
            }
        }
        place = size - 6 * piece
        for _ in 0..<5 {
            expectSame(try read(place), bytes[place..<place + piece], "near the end")
            place += piece
        }
        // The file grows while its end is read ahead, in every way in which a file can.
        try vault.contents.allocate(
            .reserve(keepsSize: false), of: number, 0..<Int64(size + 50_000), by: TestVault.owner)
        bytes += [UInt8](repeating: 0, count: 50_000)
        expectSame(try read(place, 1 << 20), bytes[place...], "reserved")
        expectSame(try read(place, 1 << 20), bytes[place...], "reserved")
        try vault.put([1, 2, 3], to: number, at: bytes.count)
        bytes += [1, 2, 3]
        expectSame(try read(place, 1 << 20), bytes[place...], "longer")
        #expect(try read(bytes.count).isEmpty)
        try vault.close()
    }

    /// One thread writes blocks of rising versions while others read in streams: a block is whole, not older than
    /// the last write before the request, and not newer than the last write begun before the answer.
    @Test func readersDuringWrites() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        try vault.start()
        let block = 16_384, blockCount = 400
        let number = try vault.makeFile("a", [UInt8](repeating: 1, count: block * blockCount))
        let written = Condition([UInt8](repeating: 1, count: blockCount))
        let begun = Condition([UInt8](repeating: 1, count: blockCount))
        let failures = Condition([String]()), isOver = Condition(false)
        let writer = try Thread.start("writer") {
            var random = SplitMix64(seed: 1)
            for version in 2...200 as ClosedRange<UInt8> {
                let start = random.below(blockCount)
                let range = start..<min(blockCount, start + 1 + random.below(random.oneIn(3) ? 64 : 4))
                begun.withLock { begun in for block in range { begun[block] = version } }
                do {
                    try vault.put(
                        [UInt8](repeating: version, count: range.count * block), to: number,
                        at: range.lowerBound * block)
                    if random.oneIn(20) { try vault.commit() }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
                written.withLock { written in for block in range { written[block] = version } }
                // Large enough for streams.
                _ = isOver.wait(nanoseconds: 3_000_000) { $0 ? true : nil }
            }
            isOver.update { $0 = true }
        }
        let streamed = Condition(0)
        let readers = try (0..<2).map { reader in
            try Thread.start("reader \(reader)") {
                let buffer = AlignedBuffer(count: 8 * block)
                while !isOver.withLock({ $0 }) {
                    for first in stride(from: 0, to: blockCount, by: 8) {
                        let low = written.withLock { $0 }
                        do {
                            let (atOnce, request) = try vault.ask(
                                number, at: first * block, count: 8 * block, into: buffer)
                            if request != nil { streamed.withLock { $0 += 1 } }
                            let bytes = try atOnce ?? request?.wait() ?? []
                            let high = begun.withLock { $0 }
                            if bytes.count != 8 * block { failures.withLock { $0.append("short") } }
                            for index in 0..<bytes.count / block {
                                let found = bytes[index * block..<(index + 1) * block]
                                let version = found.first ?? 0
                                let isRight =
                                    found.allSatisfy { $0 == version } && version >= low[first + index]
                                    && version <= high[first + index]
                                if !isRight { failures.withLock { $0.append("block \(first + index)") } }
                            }
                        } catch {
                            failures.withLock { $0.append("\(error)") }
                        }
                    }
                }
            }
        }
        writer.join()
        for reader in readers { reader.join() }
        #expect(failures.withLock { Array($0.prefix(5)) } == [])
        #expect(streamed.withLock { $0 } > 20)
        #expect(try vault.damage() == [])
        try vault.close()
    }

    /// The vault is closed while requests wait: each one is answered, and closing returns.
    @Test func closingAnswersWaitingRequests() throws {
        for round in 0..<8 {
            let test = try TestVault.create()
            let vault = try test.open()
            let bytes = Pattern.make(6 << 20, seed: 1)
            let number = try vault.makeFile("a", bytes)
            try vault.commit()
            let buffer = AlignedBuffer(count: 128 << 10)
            var open: [(bytes: [UInt8]?, request: AwaitedRead?)] = []
            for step in 0..<4 + 4 * round {
                open.append(try vault.ask(number, at: step << 17, count: 128 << 10, into: buffer))
            }
            try vault.close()
            for (step, (atOnce, request)) in open.enumerated() {
                let found = try atOnce ?? request?.wait() ?? []
                expectSame(found, bytes[step << 17..<(step + 1) << 17], "round \(round), step \(step)")
                #expect((request?.answerCount ?? 1) == 1)
            }
        }
    }
}
