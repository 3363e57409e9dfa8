import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore

@Suite struct PackStoreTests {
    private let directory = SimulatedStorageDirectory()
    private let vault = VaultID(low: 1, high: 2)
    private let numbers = Condition(Int64(0))

    private func newPack() -> (Int64, PackID) {
        let number = numbers.withLock { number in
            number += 1
            return number
        }
        return (number, PackID(low: UInt64(number), high: 7))
    }

    private func name(_ number: Int64) -> String { PackID(low: UInt64(number), high: 7).description }

    private func open(_ rows: [PackRow] = []) throws -> PackStore {
        try PackStore(in: directory, vault: vault, rows: rows)
    }

    private func append(
        _ bytes: [UInt8], to store: PackStore, item: Int64 = 1
    ) throws -> (pack: Int64, position: Int) {
        var spare: AlignedBuffer?
        return try store.append(
            bytes.span.bytes, item: item, base: 0, total: Int64(bytes.count), spare: &spare, newPack: newPack)
    }

    private func read(_ store: PackStore, _ pack: Int64, at position: Int, count: Int) throws -> [UInt8] {
        if let bytes = store.unwrittenBytes(pack, at: position, count: count) { return bytes }
        var bytes = [UInt8](repeating: 0, count: count)
        let file = try store.openFile(pack)
        let done = try bytes.withMutableRawSpan { span throws(FileSystemError) in
            try file.read(into: &span, at: position)
        }
        return Array(bytes[..<done])
    }

    @Test func aPackBeginsWithItsHeader() throws {
        let store = try open()
        _ = try append([1, 2, 3], to: store)
        try store.writeTail()
        try store.writer.finish()
        let bytes = directory.bytes(of: name(1))
        #expect(try PackHeader(bytes.span.bytes) == PackHeader(vault: vault))
        #expect(Array(bytes[32..<4096]).allSatisfy { $0 == 0 })
        #expect(Array(bytes[4096..<4099]) == [1, 2, 3])
    }

    @Test func smallExtentsWaitInTheTailAndReadTheSameBeforeAndAfter() throws {
        let store = try open()
        var random = SplitMix64(seed: 1)
        var places: [(pack: Int64, position: Int, bytes: [UInt8])] = []
        for _ in 0..<30 {
            let bytes = random.bytes(1 + random.below(PackStore.tailPieceMax))
            let place = try append(bytes, to: store)
            places.append((place.pack, place.position, bytes))
        }
        for place in places {
            #expect(try read(store, place.pack, at: place.position, count: place.bytes.count) == place.bytes)
        }
        try store.writeTail()
        #expect(store.pending.isEmpty && store.pendingByteCount == 0)
        for place in places {
            #expect(try read(store, place.pack, at: place.position, count: place.bytes.count) == place.bytes)
        }
        try store.writer.finish()
        store.noteWritten()
        for place in places {
            #expect(store.unwrittenBytes(place.pack, at: place.position, count: place.bytes.count) == nil)
            #expect(try read(store, place.pack, at: place.position, count: place.bytes.count) == place.bytes)
        }
    }

    @Test func theTailIsReadWithinItsBounds() throws {
        let store = try open()
        let place = try append([1, 2, 3, 4], to: store)
        #expect(store.unwrittenBytes(place.pack, at: place.position + 1, count: 2) == [2, 3])
        #expect(store.unwrittenBytes(place.pack, at: place.position, count: 5) == nil)
        #expect(store.unwrittenBytes(place.pack, at: place.position - 1, count: 2) == nil)
        #expect(store.unwrittenBytes(place.pack, at: place.position, count: 0) == nil)
        #expect(store.unwrittenBytes(place.pack + 1, at: place.position, count: 2) == nil)
    }

    @Test func aDroppedTailWasNeverWritten() throws {
        let store = try open()
        let place = try append([1, 2, 3], to: store)
        let pending = try #require(store.pending.first)
        #expect(store.bytes(of: pending) == [1, 2, 3])
        store.addLive(-3, to: place.pack)
        store.dropTail()
        #expect(store.pending.isEmpty)
        #expect(store.rows.first?.written == 0)
        #expect(store.rows.first?.live == 0)
        #expect(try append([9], to: store).position == place.position)
    }

    @Test func aFullPackIsFollowedByAnother() throws {
        let store = try open()
        let piece = [UInt8](repeating: 5, count: PackStore.tailPieceMax)
        var packs: Set<Int64> = []
        for _ in 0..<70 { packs.insert(try append(piece, to: store).pack) }
        #expect(packs == [1, 2])
        for _ in 0..<16 { packs.insert(try store.writeLarge(1_049_600, newPack: newPack).pack) }
        try store.writer.finish()
        #expect(packs == [1, 2, 3])
        for path in directory.paths { #expect(directory.bytes(of: path).count <= PackStore.packByteCount) }
    }

    @Test func largeExtentsDoNotOverlapTheTail() throws {
        let store = try open()
        let small = try append([1, 2, 3], to: store)
        let large = try store.writeLarge(1000, newPack: newPack)
        let next = try append([4], to: store)
        #expect(small.position == 4096)
        #expect(large.position == 8192)
        #expect(next.position == 12_288)
        #expect(store.rows.first?.written == 1004)
        #expect(store.rows.first?.live == 1004)
        try store.writer.finish()
        let file = try store.openFile(large.pack)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try bytes.withMutableRawSpan { span throws(FileSystemError) in
            try file.read(into: &span, at: large.position)
        }
        #expect(count == 4096)
        #expect(bytes == [UInt8](repeating: 7, count: 1000) + [UInt8](repeating: 0, count: 3096))
    }

    @Test func aLargeExtentCanBeReadBeforeItIsInItsFile() throws {
        let store = try open()
        // The disk accepts the header of the pack, and delays the next writes.
        let mayWrite = Condition(false), writes = Condition(0)
        directory.observe { call, _ in
            guard call == .write,
                writes.update({
                    $0 += 1; return $0 > 1
                })
            else { return }
            _ = mayWrite.wait { $0 ? true : nil }
        }
        let place = try store.writeLarge(5000, newPack: newPack)
        let bytes = store.unwrittenBytes(place.pack, at: place.position, count: 5000)
        mayWrite.update { $0 = true }
        #expect(bytes == [UInt8](repeating: 7, count: 5000))
        #expect(!store.isSynced)
        #expect(store.unsyncedByteCount == 5000)
        try store.writer.finish()
        store.noteWritten()
        #expect(store.unwrittenBytes(place.pack, at: place.position, count: 5000) == nil)
        #expect(!store.isSynced)
        try store.takeDirtyFiles().sync()
        #expect(store.isSynced)
    }

    @Test func onAFullDiskLargeExtentsAreKeptUntilThereIsRoom() throws {
        let store = try open()
        _ = try store.writeLarge(100, newPack: newPack)
        try store.writer.finish()
        directory.limit(to: 0)
        var places: [(pack: Int64, position: Int)] = []
        let error = #expect(throws: FileSystemError.self) {
            while places.count < 20 { places.append(try store.writeLarge(9000, newPack: newPack)) }
        }
        guard case .noSpace? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(places.count > 0)
        #expect(throws: FileSystemError.self) { try store.writer.finish() }
        for place in places {
            #expect(store.unwrittenBytes(place.pack, at: place.position, count: 9000)?.first == 7)
        }
        directory.limit(to: 1 << 30)
        try store.writer.finish()
        store.noteWritten()
        try store.takeDirtyFiles().sync()
        #expect(store.isSynced)
    }

    @Test func everyLaterCallReportsAFailedDisk() throws {
        let store = try open()
        _ = try store.writeLarge(100, newPack: newPack)
        try store.writer.finish()
        directory.fail(StorageFault([.write], code: ErrorNumber.inputOutput))
        _ = try store.writeLarge(9000, newPack: newPack)
        for _ in 0..<2 { #expect(throws: FileSystemError.self) { try store.writer.finish() } }
        #expect(throws: FileSystemError.self) { _ = try store.writer.takeBuffer() }
    }

    @Test func syncingTakesEveryFileAndTheirNamesOnce() throws {
        let store = try open()
        #expect(store.isSynced)
        _ = try append([1], to: store)
        try store.flushTail()
        #expect(!store.isSynced)
        directory.resetStatistics()
        try store.takeDirtyFiles().sync()
        #expect(directory.statistics.flushed.sorted() == ["/", name(1)])
        #expect(store.isSynced)
        _ = try append([1], to: store)
        try store.flushTail()
        directory.resetStatistics()
        try store.takeDirtyFiles().sync()
        #expect(directory.statistics.flushed == [name(1)])
    }

    @Test func aFailedSyncStops() throws {
        let store = try open()
        _ = try append([1], to: store)
        try store.writeTail()
        directory.fail(StorageFault([.dataSync], code: ErrorNumber.inputOutput))
        #expect {
            try store.takeDirtyFiles().sync()
        } throws: {
            guard case .stopped? = $0 as? FileSystemError else { return false }
            return true
        }
    }

    @Test func aTailWithoutRoomIsKept() throws {
        let store = try open()
        var random = SplitMix64(seed: 2)
        let bytes = random.bytes(100_000)
        let place = try append(bytes, to: store)
        directory.limit(to: directory.usedByteCount + 8192)
        try store.writeTail()
        #expect(throws: FileSystemError.self) { try store.writer.finish() }
        #expect(try read(store, place.pack, at: place.position, count: bytes.count) == bytes)
        directory.limit(to: nil)
        try store.writer.finish()
        store.noteWritten()
        #expect(try read(store, place.pack, at: place.position, count: bytes.count) == bytes)
    }

    /// A pack that is still being written stays open while others are closed, and is synced in the end.
    @Test func aPackBeingWrittenIsSyncedAlthoughManyAreOpen() throws {
        let old = (1000..<1130).map { PackRow(number: $0, id: PackID(low: UInt64($0), high: 7)) }
        for row in old { _ = try directory.open(row.id.description, create: true) }
        let store = try open(old)
        let place = try store.writeLarge(1_000_000, newPack: newPack)
        try store.takeDirtyFiles().sync()
        // Another pack becomes the current one.
        try store.fillPack(newPack: newPack)
        for row in old { _ = try store.openFile(row.number) }
        store.noteWritten()
        directory.resetStatistics()
        try store.takeDirtyFiles().sync()
        #expect(directory.statistics.flushed.contains(name(place.pack)))
        #expect(store.isSynced)
    }
}
