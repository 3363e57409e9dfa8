import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore

/// A log that changed on disk reads as an earlier commit, whole, and the damage can be reported.
@Suite struct IndexLogDamageTests {
    /// Consecutive commits in the log: the model and the end of the log after each.
    private func makeLog(
        seed: UInt64
    ) throws -> (
        test: TestIndex, directory: SimulatedStorageDirectory, commits: [(model: IndexModel, end: Int)]
    ) {
        let test = try TestIndex.create()
        let index = try test.open()
        let log = try index.makeLog()
        var rows = try RandomRows(continuing: index, seed: seed)
        var commits = [(model: rows.model, end: 0)]
        for _ in 0..<4 {
            try rows.change(index, count: 15)
            try index.commit()
            commits.append((rows.model, test.directory.bytes(of: TestIndex.log).count))
        }
        try log.sync()
        return (test, test.directory.copy(), commits)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func aFlippedFrameEndsTheLogThereAndIsCounted(seed: UInt64) throws {
        let (test, directory, commits) = try makeLog(seed: seed)
        var random = SplitMix64(seed: seed)
        let frame = IndexPageLayout.frameByteCount
        let last = commits[4].end
        for start in stride(from: IndexPageLayout.logHeaderByteCount, to: last, by: frame) {
            let damaged = test.on(directory.copy())
            damaged.directory.flip(TestIndex.log, at: start + random.below(frame), mask: 4)
            let expected = commits.last { $0.end <= start }
            let place: Comment = "seed \(seed), byte \(start) of \(last)"
            let index = try damaged.open()
            #expect(try IndexModel(reading: index) == expected?.model, place)
            #expect(try index.makeReader().problems() == [], place)
            #expect(index.droppedFrameCount == (last - start) / frame - 1, place)
        }
    }

    @Test func aFlippedByteOfTheHeaderEndsTheLogOrFails() throws {
        let (test, directory, commits) = try makeLog(seed: 4)
        for offset in 0..<IndexPageLayout.logHeaderByteCount {
            let damaged = test.on(directory.copy())
            damaged.directory.flip(TestIndex.log, at: offset)
            guard let (model, problems) = try? damaged.inspect() else { continue }
            #expect(commits.contains { $0.model == model }, "byte \(offset)")
            #expect(problems == [], "byte \(offset)")
        }
    }

    @Test func aTruncatedLogEndsWithItsLastWholeCommit() throws {
        let (test, directory, commits) = try makeLog(seed: 5)
        for size in stride(from: 0, through: commits[4].end, by: 1000) {
            let damaged = test.on(directory.copy())
            damaged.directory.cut(TestIndex.log, to: size)
            let (model, problems) = try damaged.inspect()
            #expect(model == commits.last { $0.end <= size }?.model, "cut to \(size) bytes")
            #expect(problems == [], "cut to \(size) bytes")
        }
    }

    @Test func swappedFramesAreNotUsed() throws {
        let (test, directory, commits) = try makeLog(seed: 6)
        let frame = IndexPageLayout.frameByteCount
        let first = IndexPageLayout.logHeaderByteCount
        let bytes = directory.bytes(of: TestIndex.log)
        let damaged = test.on(directory.copy())
        damaged.directory.overwrite(
            TestIndex.log, at: first, with: Array(bytes[first + frame..<first + 2 * frame]))
        damaged.directory.overwrite(
            TestIndex.log, at: first + frame, with: Array(bytes[first..<first + frame]))
        let (model, problems) = try damaged.inspect()
        #expect(model == commits[0].model)
        #expect(problems == [])
    }

    /// A frame that changes under an open index causes an error when it is read, never other rows.
    @Test func aFrameThatChangesWhileTheIndexIsOpenIsAnError() throws {
        let (test, directory, commits) = try makeLog(seed: 7)
        let damaged = test.on(directory.copy())
        let index = try damaged.open()
        for start in stride(
            from: IndexPageLayout.logHeaderByteCount, to: commits[4].end, by: IndexPageLayout.frameByteCount)
        {
            damaged.directory.flip(TestIndex.log, at: start + 100)
        }
        for (number, row) in commits[4].model.items {
            guard let found = try? index.item(number) else { continue }
            #expect(found == row)
        }
        #expect(throws: FileSystemError.self) { _ = try index.makeReader().size() }
    }

    /// A header with valid checksums and unexpected fields is damage, and ends no process.
    @Test(arguments: [(0x377f_0683, 512), (0x377f_0683, 65_536), (0x377f_0682, 1024), (0x377f_0683, 4095)])
    func aHeaderOfAnotherPageSizeIsDamage(magic: UInt32, pageByteCount: UInt32) throws {
        let (test, directory, _) = try makeLog(seed: 8)
        let damaged = test.on(directory.copy())
        damaged.directory.overwrite(
            TestIndex.log, at: 0, with: Self.header(magic: magic, pageByteCount: pageByteCount))
        #expect {
            _ = try damaged.open()
        } throws: {
            ($0 as? FileSystemError)?.summary == "the header of the index's log is damaged"
        }
    }

    /// As SQLite writes it: the checksum is over 32-bit words, big-endian if the magic number is odd.
    private static func header(magic: UInt32, pageByteCount: UInt32) -> [UInt8] {
        let fields = [magic, 3_007_000, pageByteCount, 0, 1, 2]
        var sums: (UInt32, UInt32) = (0, 0)
        let words = magic & 1 == 1 ? fields : fields.map(\.byteSwapped)
        for pair in stride(from: 0, to: words.count, by: 2) {
            sums.0 &+= words[pair] &+ sums.1
            sums.1 &+= words[pair + 1] &+ sums.0
        }
        return (fields + [sums.0, sums.1]).flatMap { word in
            stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    /// The page size of the database itself is sealed, but an attacker with the key may have changed it.
    @Test func aReadAcrossPagesIsDamage() throws {
        let (_, directory, _) = try makeLog(seed: 9)
        let files = IndexFiles(
            directory: directory, vault: VaultID(low: 1, high: 2), key: .random(), pace: DiskPace())
        for name in [TestIndex.database, TestIndex.log] {
            let opened = try directory.open(name, create: false)
            let file: any IndexFile =
                name == TestIndex.log
                ? IndexLogFile(opened, of: files) : IndexDatabaseFile(opened, of: files)
            var bytes = [UInt8](repeating: 0, count: 8192)
            #expect(throws: FileSystemError.self) {
                try bytes.withMutableRawSpan { _ = try file.read(&$0, at: 4000) }
            }
            #expect(throws: FileSystemError.self) { try file.write(bytes.span.bytes, at: 4000) }
        }
    }
}
