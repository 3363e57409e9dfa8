import CofferFormat
import CofferTestSupport
import Testing

@testable import CofferVault

/// What an export looks at, and in which order.
@Suite struct ExportWalkTests {
    /// Each name has the directories above it, however deep, and nothing of those beside it.
    @Test func paths() throws {
        let vault = try TestVault.create().open()
        let a = try vault.makeDirectory("a")
        let b = try vault.makeDirectory("b", in: a)
        _ = try vault.makeFile("1", in: try vault.makeDirectory("c", in: b))
        _ = try vault.makeFile("2", in: b)
        _ = try vault.makeDirectory("d", in: a)
        _ = try vault.makeFile("3", in: a)
        _ = try vault.makeFile("4")
        let view = try vault.export.hold()
        defer { vault.export.release(view) }
        var walk = ExportWalk(view)
        var paths: [String] = []
        while let step = try walk.next() { paths.append(step.entry.text) }
        #expect(
            paths == ["/", "/a", "/a/b", "/a/b/c", "/a/b/c/1", "/a/b/2", "/a/d", "/a/3", "/4"])
    }

    /// A file with many ranges, in more parts than are read at a time.
    @Test func manyRanges() throws {
        let vault = try TestVault.create().open()
        let file = try vault.makeFile("file")
        for place in 0..<2500 { try vault.put([1], to: file, at: place * 8192) }
        let view = try vault.export.hold()
        defer { vault.export.release(view) }
        let expected = try view.dataRanges(of: file)
        #expect(expected.map(\.lowerBound) == (0..<2500).map { Int64($0 * 8192) })
        #expect(expected.allSatisfy { $0.count <= 4096 })
        // What was a hole has data, what had data is another range, and the rest is cut.
        for place in stride(from: 0, to: 2400, by: 2) {
            try vault.put([2], to: file, at: place * 8192 + 4096)
        }
        try vault.put([UInt8](repeating: 3, count: 20_000), to: file, at: 100)
        try vault.commit()
        #expect(try view.dataRanges(of: file) == expected)
        try vault.truncate(file, to: 10_000)
        try vault.truncate(file, to: 1 << 30)
        try vault.commit()
        #expect(try view.dataRanges(of: file) == expected)
        try vault.remove("file")
        try vault.commit()
        #expect(try view.dataRanges(of: file) == expected)
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func rangesAsSets(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func some() -> RangeSet<Int64> {
            var set = RangeSet<Int64>()
            for _ in 0..<random.below(30) {
                let begin = Int64(random.below(300))
                set.insert(contentsOf: begin..<begin + 1 + Int64(random.below(20)))
            }
            return set
        }
        for _ in 0..<200 {
            let (a, b) = (some(), some())
            let (first, second) = (Array(a.ranges), Array(b.ranges))
            #expect(FileRanges.merged(first, second) == Array(a.union(b).ranges))
            #expect(FileRanges.removing(second, from: first) == Array(a.subtracting(b).ranges))
        }
    }

    /// With too many ranges, only the smallest holes between them become zeros.
    @Test func tooManyRanges() {
        let data: [Range<Int64>] = [10..<20, 1000..<1030, 5000..<5001, 6000..<6001, 1 << 40..<(1 << 40) + 3]
        let size = Int64(1) << 62
        let last: Range<Int64> = 1 << 40..<(1 << 40) + 512
        let all: [Range<Int64>] = [0..<1536, 4608..<5120, 5632..<6144, last]
        #expect(ExportWalk.fitting(data, size: size, max: 5) == all)
        #expect(ExportWalk.fitting(data, size: size, max: 3) == [all[0], 4608..<6144, last])
        #expect(ExportWalk.fitting(data, size: size, max: 2) == [0..<6144, last])
        #expect(ExportWalk.fitting([5..<7], size: 7, max: 1) == [0..<7])
        #expect(ExportWalk.fitting([], size: size, max: 1) == [])
    }
}
