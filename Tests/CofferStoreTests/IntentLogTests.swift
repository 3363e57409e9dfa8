import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore

/// The file of the intent log: records are found again only in their place and for their commit.
@Suite final class IntentLogTests {
    private let directory = SimulatedStorageDirectory()
    private let key = SymmetricKey<StoreRole>.random()
    private let vault = VaultID(low: 1, high: 2)
    private let base = IndexBase(commits: 7, digests: [UInt8](repeating: 3, count: 144))

    private func open(
        _ directory: SimulatedStorageDirectory? = nil, vault: VaultID? = nil
    ) -> IntentLog {
        IntentLog(in: directory ?? self.directory, vault: vault ?? self.vault, key: key)
    }

    private func append(_ row: [UInt8], to log: IntentLog) throws -> Bool {
        var writer = log.makeWriter()
        let isIn = writer.append(row: row.span.bytes)
        #expect(isIn)
        return try log.append(writer)
    }

    /// The rows of all records, and how many records follow the end.
    private func read(_ log: IntentLog, on base: IndexBase? = nil) throws -> (rows: [[UInt8]], rest: Int) {
        var records = try log.records(on: base ?? self.base)
        var rows: [[UInt8]] = []
        while let body = try records.next() {
            rows += try IntentRecord(body.span.bytes).rows.map { Array(body[$0]) }
        }
        return (rows, try records.countRest())
    }

    /// Five records of different lengths.
    private func fill() throws -> [[UInt8]] {
        let log = open()
        log.begin(on: base)
        let rows = [1, 5000, 10, 60_000, 4000].map { Pattern.bytes($0) }
        for row in rows { #expect(try append(row, to: log)) }
        #expect(log.recordCount == 5)
        return rows
    }

    @Test func readsAsWritten() throws {
        #expect(try read(open()).rows == [])
        let rows = try fill()
        let found = try read(open())
        #expect(found.rows == rows)
        #expect(found.rest == 0)
    }

    @Test func recordsOfAnotherCommitOrVaultAreVoid() throws {
        _ = try fill()
        var digests = base.digests
        digests[111] ^= 1
        for other in [
            IndexBase(commits: 6, digests: base.digests), IndexBase(commits: 8, digests: base.digests),
            IndexBase(commits: 7, digests: digests),
        ] {
            let found = try read(open(), on: other)
            #expect(found.rows == [])
            #expect(found.rest == 0)
        }
        #expect(try read(open(vault: VaultID(low: 1, high: 3))).rows == [])
    }

    /// Wherever a byte flips, earlier records are used, and later ones are counted.
    @Test func damageEndsTheLogAndIsCounted() throws {
        let rows = try fill()
        let ends = rows.reduce(into: [0]) { ends, row in
            ends.append((ends.last ?? 0) + IntentLayout.recordByteCount(fields: 10 + row.count))
        }
        var random = SplitMix64(seed: 1)
        for record in rows.indices {
            for _ in 0..<8 {
                let damaged = directory.copy()
                let offset = ends[record] + random.below(ends[record + 1] - ends[record])
                damaged.flip("intents", at: offset, mask: 16)
                let found = try read(open(damaged))
                #expect(found.rows == Array(rows[..<record]), "byte \(offset)")
                #expect(found.rest == rows.count - record - 1, "byte \(offset)")
            }
        }
    }

    @Test func aTruncatedFileKeepsItsPrefix() throws {
        let rows = try fill()
        for size in stride(from: 0, through: 90_112, by: 2048) {
            let cut = directory.copy()
            cut.cut("intents", to: size)
            let found = try read(open(cut))
            #expect(found.rows == Array(rows[..<found.rows.count]))
            #expect(found.rest == 0, "cut to \(size)")
        }
    }

    /// A record in another place does not open.
    @Test func movedRecordsDoNotOpen() throws {
        _ = try fill()
        let bytes = directory.bytes(of: "intents")
        directory.overwrite("intents", at: 0, with: Array(bytes[12_288..<16_384]))
        let found = try read(open())
        #expect(found.rows == [])
        #expect(found.rest == 4)
    }

    /// The next commit starts from the beginning, and remains of the previous one do not count.
    @Test func theNextCommitStartsFromTheBeginning() throws {
        _ = try fill()
        let log = open()
        let next = IndexBase(commits: 8, digests: base.digests)
        log.begin(on: next)
        #expect(try append([9], to: log))
        let found = try read(open(), on: next)
        #expect(found.rows == [[9]])
        #expect(found.rest == 0)
        #expect(try read(open()).rows == [])
    }

    /// Existing records would be overwritten.
    @Test func oneCommitIsBegunOnce() throws {
        let log = open()
        #expect(!log.isReady)
        #expect(try !append([1], to: log))
        log.begin(on: base)
        #expect(try append([1], to: log))
        log.suspend()
        log.begin(on: base)
        #expect(!log.isReady)
        #expect(try !append([2], to: log))
        #expect(try read(log).rows == [[1]])
    }

    @Test func aFullFileTakesNoMoreUntilTheNextCommit() throws {
        let log = open()
        log.begin(on: base)
        var count = 0
        while try append([1], to: log) { count += 1 }
        #expect(count == IntentLog.byteCountMax / IntentLayout.unitByteCount)
        #expect(!log.isReady)
        #expect(directory.bytes(of: "intents").count == IntentLog.byteCountMax)
        #expect(try read(log).rows.count == count)
        log.begin(on: IndexBase(commits: 8, digests: base.digests))
        #expect(try append([1], to: log))
    }

    /// Without room nothing is promised, and nothing more is written on this commit.
    @Test(arguments: [StorageCall.open, .sync, .write, .dataSync])
    func aDiskWithoutRoomIsNoError(call: StorageCall) throws {
        let log = open()
        log.begin(on: base)
        directory.fail(StorageFault([call], code: ErrorNumber.noSpace))
        #expect(try !append([1], to: log))
        directory.heal()
        #expect(!log.isReady)
        #expect(try !append([1], to: log))
    }

    @Test(arguments: [StorageCall.write, .dataSync])
    func aDiskThatFailsIsAnError(call: StorageCall) throws {
        let log = open()
        log.begin(on: base)
        directory.fail(StorageFault([call], path: "intents", code: ErrorNumber.inputOutput))
        #expect(throws: FileSystemError.self) { try append([1], to: log) }
        directory.heal()
        #expect(!log.isReady)
    }

    @Test func anUnreadableLogIsAnError() throws {
        _ = try fill()
        directory.fail(StorageFault([.read], path: "intents", code: ErrorNumber.inputOutput))
        #expect(throws: FileSystemError.self) { try read(open()) }
    }

    @Test func inALongFileARecordIsOneWriteAndOneFlush() throws {
        let log = open()
        log.begin(on: base)
        for _ in 0..<16 { #expect(try append(Pattern.bytes(8000), to: log)) }
        directory.resetStatistics()
        #expect(try append(Pattern.bytes(8000), to: log))
        #expect(directory.statistics.total == 2)
        #expect(directory.statistics.flushed == ["intents"])
    }

    /// Power cuts leave a prefix of the log; nothing promised is missing.
    @Test(arguments: [UInt64](0..<20))
    func powerCutsLeaveAPrefix(seed: UInt64) throws {
        let log = open()
        log.begin(on: base)
        for number in 0..<10 {
            #expect(try append([UInt8](repeating: UInt8(number), count: 3000), to: log))
            let left = directory.crash(seed: seed * 100 + UInt64(number))
            #expect(try read(open(left)).rows.count == number + 1)
        }
        directory.fail(StorageFault([.dataSync], path: "intents", code: ErrorNumber.inputOutput))
        #expect(throws: FileSystemError.self) { try append(Pattern.bytes(9000), to: log) }
        let left = try read(open(directory.crash(seed: seed)))
        #expect([10, 11].contains(left.rows.count))
        #expect(left.rest == 0)
    }

    @Test func nothingIsInPlain() throws {
        let log = open()
        log.begin(on: base)
        let secret = Array("a name that nobody may read".utf8)
        #expect(try append(secret, to: log))
        #expect(directory.bytes(of: "intents").firstRange(of: secret) == nil)
        #expect(try read(open()).rows == [secret])
    }

    @Test func removingLeavesNoFile() throws {
        let log = open()
        log.remove()
        log.begin(on: base)
        #expect(try append([1], to: log))
        log.remove()
        #expect(directory.paths == [])
        #expect(!log.isReady)
    }
}

private enum Pattern {
    static func bytes(_ count: Int) -> [UInt8] {
        var random = SplitMix64(seed: UInt64(count))
        return random.bytes(count)
    }
}
