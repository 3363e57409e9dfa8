import CofferSystem
import CofferTestSupport
import CofferVault
import Testing

/// Random changes of content, compared with arrays of bytes.
@Suite struct ContentModelTests {
    /// Two files and their expected content.
    private struct Files {
        let vault: Vault
        var random: SplitMix64
        var contents: [[UInt8]]
        let numbers: [Int64]

        /// A place in a file, often at the edge of a block or an extent.
        mutating func offset(below limit: Int) -> Int {
            let edges = [4096, 16_384, 1 << 20]
            guard random.oneIn(2), let edge = random.pick(edges) else { return random.below(limit) }
            return min(max(0, edge * random.below(limit / edge + 1) + random.below(3) - 1), limit)
        }

        mutating func change() throws {
            let file = random.below(2)
            let count = random.oneIn(12) ? random.below(2_500_000) : random.below(40_000)
            let offset = offset(below: min(contents[file].count + 20_000, 3_000_000))
            let range = offset..<offset + count + 1
            switch random.below(8) {
            case 0...3: try write(range, in: file)
            case 4: try truncate(file, to: offset)
            case 5: try punch(range, in: file)
            case 6: try zero(range, in: file)
            default: try copy(range, from: file)
            }
        }

        private mutating func grow(_ file: Int, to size: Int) {
            contents[file].grow(to: size)
        }

        private mutating func write(_ range: Range<Int>, in file: Int) throws {
            let bytes = random.bytes(range.count)
            try vault.put(bytes, to: numbers[file], at: range.lowerBound)
            contents[file].overwrite(at: range.lowerBound, with: bytes)
        }

        private mutating func truncate(_ file: Int, to size: Int) throws {
            try vault.truncate(numbers[file], to: size)
            grow(file, to: size)
            contents[file].removeLast(contents[file].count - size)
        }

        private func allocate(_ allocation: Contents.Allocation, _ range: Range<Int>, in file: Int) throws {
            try vault.contents.allocate(
                allocation, of: numbers[file], Int64(range.lowerBound)..<Int64(range.upperBound),
                by: TestVault.owner)
        }

        private mutating func clear(_ range: Range<Int>, in file: Int) {
            contents[file].clear(range)
        }

        private mutating func punch(_ range: Range<Int>, in file: Int) throws {
            try allocate(.punchHole, range, in: file)
            clear(range, in: file)
        }

        private mutating func zero(_ range: Range<Int>, in file: Int) throws {
            try allocate(.zero(keepsSize: false), range, in: file)
            grow(file, to: range.upperBound)
            clear(range, in: file)
        }

        private mutating func copy(_ range: Range<Int>, from file: Int) throws {
            let target = offset(below: contents[1 - file].count + 10_000)
            let count = try vault.contents.copy(
                numbers[file], at: Int64(range.lowerBound), to: numbers[1 - file], at: Int64(target),
                count: range.count, by: TestVault.owner)
            let bytes = contents[file][range.clamped(to: 0..<contents[file].count)]
            #expect(count == bytes.count)
            if bytes.isEmpty { return }
            grow(1 - file, to: target + count)
            contents[1 - file].replaceSubrange(target..<target + count, with: bytes)
        }

        /// Compares sizes and contents, in other pieces than those that were written.
        mutating func compare(_ comment: Comment) throws {
            for (number, content) in zip(numbers, contents) {
                #expect(try vault.attributes(of: number).size == Int64(content.count), comment)
                var offset = 0
                while offset < content.count {
                    let count = 1 + random.below(700_000)
                    let expected = Array(content[offset..<min(offset + count, content.count)])
                    let isSame = try haveSameBytes(vault.get(number, at: offset, count: count), expected)
                    #expect(isSame, comment)
                    offset += count
                }
            }
        }
    }

    @Test(arguments: [UInt64](0..<12))
    func contentIsWhatWasWritten(seed: UInt64) throws {
        var test = try TestVault.create()
        var numbers: [Int64] = []
        var contents: [[UInt8]] = [[], []]
        var random = SplitMix64(seed: seed)
        for round in 0..<4 {
            let vault = try test.open()
            if round == 0 { numbers = [try vault.makeFile("one"), try vault.makeFile("two")] }
            var files = Files(vault: vault, random: random, contents: contents, numbers: numbers)
            try files.compare("seed \(seed), round \(round), reopened")
            for _ in 0..<25 {
                try files.change()
                if files.random.oneIn(6) { try vault.commit() }
            }
            try files.compare("seed \(seed), round \(round)")
            #expect(try vault.damage() == [], "seed \(seed), round \(round)")
            (contents, random) = (files.contents, files.random)
            if random.oneIn(2) { try vault.close() } else { try vault.commit() }
            test = test.on(test.directory.copy())
        }
    }

    @Test func holesAreFoundAndTakeNoSpace() throws {
        let vault = try TestVault.create().open()
        let number = try vault.makeFile("sparse")
        try vault.put([1], to: number, at: 1 << 40)
        try vault.put([2], to: number, at: 100)
        #expect(try vault.attributes(of: number).allocated == 2)
        #expect(try vault.contents.seek(number, from: 0, toData: true) == 100)
        #expect(try vault.contents.seek(number, from: 100, toData: false) == 101)
        #expect(try vault.contents.seek(number, from: 101, toData: true) == 1 << 40)
        #expect(try vault.contents.seek(number, from: 1 << 40, toData: false) == (1 << 40) + 1)
        #expect(fails("beyondEnd") { _ = try vault.contents.seek(number, from: (1 << 40) + 1, toData: true) })
        #expect(try vault.get(number, at: 99, count: 3) == [0, 2, 0])
    }
}
