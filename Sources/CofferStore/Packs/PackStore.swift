package import CofferFormat
package import CofferSystem

/// The packs of one vault on this device: append-only files of sealed extents.
///
/// Small extents gather in a tail in memory; `writer` writes full tails, and large extents. Not
/// safe for several threads: the vault's lock lets one in. What may block for long (`PackFile`, `writer`)
/// is handed out, to be used without that lock.
package final class PackStore {
    /// Bytes after which a pack takes no more.
    package static let packByteCount = 16 << 20
    /// Sealed bytes up to which an extent goes through the tail.
    package static let tailPieceMax = 256 << 10
    private static let tailByteCount = 1 << 20
    private static let openFilesMax = 128

    private let directory: any StorageDirectory
    private let vault: VaultID
    private var packs: [Int64: Pack] = [:]
    /// Packs without a row whose files are still there: if their removal is never committed, as the disk
    /// fails, the last commit refers to them, and they can be read.
    private var leaving: [Int64: Pack] = [:]
    private var current: Int64?
    /// Packs that have names on disk which are not synced.
    private var directoryIsDirty = false
    /// Writes the large extents.
    package let writer = PackWriter()
    /// Large extents that were not in their files yet when `noteWritten` looked last, and their bytes.
    private var inFlight = PackWriter.Written()
    /// A buffer of `writer`, while there is something in it.
    private var tail: AlignedBuffer?
    private var tailCount = 0
    /// Plaintext bytes in the tail that rows refer to.
    private var tailLive: Int64 = 0
    /// A buffer of `writer` for the next tail, lent for a call of `append`, which must not wait for one.
    package var spare: AlignedBuffer?
    /// Where the tail will begin in the current pack's file.
    private var tailStart = 0
    /// The extents in the tail.
    package private(set) var pending: [PendingExtent] = []
    /// Reads so far.
    private var useCount = 0
    /// Bytes that were handed to files since the last `takeDirtyFiles`.
    private var dirtyByteCount = 0

    /// An extent that is in the tail and in the index, but in no file yet.
    package struct PendingExtent: Sendable {
        /// The item's number.
        package let item: Int64
        /// Where the extent begins in the item, in bytes.
        package let base: Int64
        /// Plaintext bytes of the extent.
        package let total: Int64
        /// The pack's number.
        package let pack: Int64
        /// Where the sealed extent will begin in the pack's file, in bytes.
        package let position: Int64
        /// Bytes of the sealed extent, tags included.
        package let sealedByteCount: Int
    }

    private struct Pack {
        var row: PackRow
        /// As the index has it; nil if it has none yet.
        var stored: PackRow?
        var file: PackFile?
        var isDirty = false
        /// Large extents that may not be in the file yet.
        var inFlight = 0
        /// Which read used it last; 0 for none since the store was opened.
        var lastUse = 0
    }

    /// Opens the packs that the index names, and removes files that it does not name: what a crash left.
    ///
    /// - Parameter keepsOthers: Whether to leave such files, as commits that named them may have been lost.
    package init(
        in directory: any StorageDirectory, vault: VaultID, rows: [PackRow], isReadOnly: Bool = false,
        keepsOthers: Bool = false
    ) throws(StoreError) {
        self.directory = directory
        self.vault = vault
        for row in rows { packs[row.number] = Pack(row: row, stored: row) }
        if isReadOnly { return }
        let known = Set(rows.map(\.id.description))
        do throws(SystemError) {
            for name in keepsOthers ? [] : try directory.list()
            where !known.contains(name) && PackID(hexadecimal: name) != nil {
                try directory.remove(name)
            }
        } catch {
            throw StoreError(error)
        }
        try resume()
    }

    /// Goes on with the latest pack, behind whatever a crash may have left at its end.
    private func resume() throws(StoreError) {
        guard let latest = packs.keys.max(), let file = try? openFile(latest) else { return }
        let size = try file.size()
        guard size >= PackHeader.byteCount, size < Self.packByteCount else { return }
        current = latest
        tailStart = size
    }

    /// The pack that is being appended to.
    package var currentNumber: Int64? { current }

    /// Every pack as of now.
    package var rows: [PackRow] { packs.values.map(\.row) }

    // MARK: Appending

    /// Gives a large sealed extent its place, at the beginning of a page, and has it written.
    ///
    /// - Parameters:
    ///   - buffer: Of `writer`, to which it belongs from now on.
    ///   - count: Bytes of the sealed extent, of `plaintext` bytes.
    /// - Returns: The pack and the position in it.
    package func write(
        _ buffer: AlignedBuffer, count: Int, plaintext: Int64, newPack: () -> (Int64, PackID)
    ) throws(StoreError) -> (pack: Int64, position: Int) {
        try writeTail()
        let number = try roomyPack(for: count + 2 * PackFile.pageByteCount, newPack: newPack)
        let file = try openFile(number)
        let position = PackFile.wholePages(tailStart)
        tailStart = position + PackFile.wholePages(count)
        note(plaintext, in: number)
        packs[number]?.inFlight += 1
        inFlight.add(count)
        writer.write(buffer, count: count, live: plaintext, to: file, pack: number, at: position)
        return (number, position)
    }

    /// Notes that rows refer to `count` plaintext bytes less of the extent at `position`; a large one that
    /// nothing refers to any more need not reach the disk.
    package func drop(_ number: Int64, at position: Int, _ count: Int64) {
        addLive(-count, to: number)
        if number == current, position >= tailStart, position < tailStart + tailCount { tailLive -= count }
        if inFlight.extentCount > 0 { writer.drop(number, at: position, count) }
    }

    /// Takes note of the large extents that have come into their files, or need not any more.
    package func noteWritten() {
        for (number, written) in writer.takeWritten() {
            packs[number]?.inFlight -= written.extentCount
            inFlight.extentCount -= written.extentCount
            inFlight.byteCount -= written.byteCount
            markDirty(number, written.byteCount)
        }
    }

    /// Whether `append` would need a buffer for `count` sealed bytes.
    package func needsBuffer(for count: Int) -> Bool {
        tail == nil || current == nil || tailCount + count > Self.tailByteCount
            || tailStart + tailCount + count + PackFile.pageByteCount > Self.packByteCount
    }

    /// Large extents and full tails that may not be in their files.
    package var inFlightCount: Int { inFlight.extentCount }

    /// Puts a small sealed extent into the tail.
    ///
    /// - Returns: The pack and the position in it.
    package func append(
        _ sealed: RawSpan, item: Int64, base: Int64, total: Int64, newPack: () -> (Int64, PackID)
    ) throws(StoreError) -> (pack: Int64, position: Int) {
        precondition(sealed.byteCount <= Self.tailPieceMax)
        if tailCount + sealed.byteCount > Self.tailByteCount { try writeTail() }
        let number = try roomyPack(for: sealed.byteCount + PackFile.pageByteCount, newPack: newPack)
        let tail = if let tail { tail } else if let spare { spare } else { try writer.take() }
        if tail === spare { spare = nil }
        self.tail = tail
        if tailCount == 0 { tailStart = PackFile.wholePages(tailStart) }
        let position = tailStart + tailCount
        tail.copy(sealed, to: tailCount)
        tailCount += sealed.byteCount
        tailLive += total
        pending.append(
            PendingExtent(
                item: item, base: base, total: total, pack: number, position: Int64(position),
                sealedByteCount: sealed.byteCount))
        note(total, in: number)
        return (number, position)
    }

    private func note(_ plaintext: Int64, in number: Int64) {
        packs[number]?.row.written += plaintext
        packs[number]?.row.live += plaintext
    }

    private func markDirty(_ number: Int64, _ count: Int) {
        packs[number]?.isDirty = true
        dirtyByteCount += count
    }

    /// The current pack, or a new one if that has no room.
    private func roomyPack(for count: Int, newPack: () -> (Int64, PackID)) throws(StoreError) -> Int64 {
        if let current, tailStart + tailCount + count <= Self.packByteCount { return current }
        try writeTail()
        if let current, let file = packs[current]?.file { file.startWriteback() }
        let (number, id) = newPack()
        do throws(SystemError) {
            let file = try directory.open(id.description, create: true)
            try unsafe file.write(PackHeader(vault: vault).bytes.span.bytes, at: 0)
            packs[number] = Pack(
                row: PackRow(number: number, id: id), stored: nil,
                file: PackFile(file, named: id.description, in: directory),
                isDirty: true)
        } catch {
            throw StoreError(error)
        }
        directoryIsDirty = true
        current = number
        tailStart = PackHeader.byteCount
        return number
    }

    /// Has the tail written.
    package func writeTail() throws(StoreError) {
        guard tailCount > 0, let current, let tail else { return }
        let file = try openFile(current)
        packs[current]?.inFlight += 1
        inFlight.add(tailCount)
        writer.write(tail, count: tailCount, live: tailLive, to: file, pack: current, at: tailStart)
        tailStart += PackFile.wholePages(tailCount)
        self.tail = nil
        tailCount = 0
        tailLive = 0
        pending.removeAll(keepingCapacity: true)
    }

    /// The bytes of an extent, if they may not be in the file yet.
    package func unwrittenBytes(_ pack: Int64, at position: Int, count: Int) -> [UInt8]? {
        if inFlight.extentCount > 0, let bytes = writer.bytes(pack, at: position, count: count) {
            return bytes
        }
        return tailBytes(pack, at: position, count: count)
    }

    private func tailBytes(_ pack: Int64, at position: Int, count: Int) -> [UInt8]? {
        guard let tail, pack == current, position >= tailStart, count > 0 else { return nil }
        let offset = position - tailStart
        guard offset + count <= tailCount else { return nil }
        return tail.withBytes(offset..<offset + count) { $0.array }
    }

    /// Lends the bytes of an extent; nil if they are not in the tail any more.
    package func withTailBytes<Result>(
        _ pack: Int64, at position: Int, count: Int, _ body: (RawSpan) -> Result
    ) -> Result? {
        guard let tail, pack == current, position >= tailStart,
            position - tailStart <= tailCount - count
        else { return nil }
        return tail.withBytes(position - tailStart..<position - tailStart + count, body)
    }

    /// The bytes of an extent in the tail.
    package func bytes(of extent: PendingExtent) -> [UInt8] {
        tailBytes(extent.pack, at: Int(extent.position), count: extent.sealedByteCount) ?? []
    }

    /// Sealed bytes in the tail.
    package var pendingByteCount: Int { tailCount }

    /// Empties the tail without writing it, after its extents were put into rows of the index.
    package func dropTail() {
        for extent in pending { packs[extent.pack]?.row.written -= extent.total }
        tailCount = 0
        tailLive = 0
        pending.removeAll(keepingCapacity: true)
    }

    // MARK: Reading

    /// The file of a pack.
    package func openFile(_ number: Int64) throws(StoreError) -> PackFile {
        guard let pack = packs[number] ?? leaving[number] else {
            throw .damaged(place: "the reference to pack \(number)")
        }
        if let file = pack.file { return file }
        if packs.values.reduce(0, { $0 + ($1.file == nil ? 0 : 1) }) >= Self.openFilesMax { closeSomeFiles() }
        do throws(SystemError) {
            let name = pack.row.id.description
            let file = PackFile(try directory.open(name, create: false), named: name, in: directory)
            packs[number]?.file = file
            return file
        } catch  where error.code == 2 {
            throw .damaged(place: "pack \(pack.row.id), which is missing,")
        } catch {
            throw StoreError(error)
        }
    }

    /// Notes that a pack is read.
    package func noteUse(of number: Int64) {
        useCount += 1
        packs[number]?.lastUse = useCount
    }

    /// The higher, the later a pack was read; 0 if it was not since the store was opened.
    package func lastUse(of number: Int64) -> Int { packs[number]?.lastUse ?? 0 }

    private func closeSomeFiles() {
        for (number, pack) in packs
        where !pack.isDirty && pack.inFlight == 0 && number != current && pack.file != nil {
            packs[number]?.file = nil
        }
    }

    /// The name of a pack, for messages.
    package func id(of number: Int64) -> PackID? { packs[number]?.row.id }

    // MARK: Accounting and syncing

    /// Notes that ranges refer to more or fewer plaintext bytes of a pack.
    package func addLive(_ difference: Int64, to number: Int64) {
        packs[number]?.row.live += difference
    }

    /// Bytes that a pack takes on the disk for ranges that nothing refers to any more.
    ///
    /// What was given back in whole pages does not count, nor what a file system takes beside.
    package func wastedByteCount(of number: Int64) throws(StoreError) -> Int {
        guard let row = packs[number]?.row else { return 0 }
        let needed = ExtentLayout.sealedByteCount(Int(row.live))
        let dead = ExtentLayout.sealedByteCount(Int(row.written - row.live))
        return max(0, min(dead, try openFile(number).allocatedByteCount() - needed))
    }

    /// Whether all that was appended is in files that are synced, but for the tail.
    package var isSynced: Bool { dirtyByteCount == 0 && !directoryIsDirty && inFlight.extentCount == 0 }

    /// Sealed bytes that the disk has not taken yet, at most.
    package var unwrittenByteCount: Int {
        tailCount + min(inFlight.byteCount, PackWriter.slotCount * PackWriter.slotByteCount)
    }

    /// Bytes that were appended and may not be on disk.
    package var unsyncedByteCount: Int { dirtyByteCount + inFlight.byteCount + tailCount }

    /// The files that have bytes which may not be on disk; they count as clean from now on, so whoever
    /// takes them must sync them, and stop the store if that fails.
    package func takeDirtyFiles() throws(StoreError) -> DirtyFiles {
        let numbers = packs.filter(\.value.isDirty).map(\.key)
        var files: [PackFile] = []
        for number in numbers { files.append(try openFile(number)) }
        for number in numbers { packs[number]?.isDirty = false }
        let dirty = DirtyFiles(files: files, directory: directoryIsDirty ? directory : nil)
        directoryIsDirty = false
        dirtyByteCount = 0
        return dirty
    }

    /// Brings the rows of the packs up to date.
    ///
    /// - Returns: The packs that nothing refers to any more; their files can go once the commit is on disk.
    package func storeRows(in index: Index) throws(StoreError) -> [PackID] {
        var removed: [PackID] = []
        for (number, pack) in packs {
            if pack.row.live <= 0, pack.inFlight == 0, number != current, !pack.isDirty {
                if let stored = pack.stored { try index.remove(stored) }
                packs[number] = nil
                leaving[number] = Pack(row: pack.row, stored: pack.stored)
                removed.append(pack.row.id)
            } else if pack.row != pack.stored {
                try index.put(pack.row, replacing: pack.stored)
                packs[number]?.stored = pack.row
            }
        }
        return removed
    }

    /// Removes the file of a pack that no row names any more.
    package func removeFile(_ id: PackID) throws(StoreError) {
        leaving = leaving.filter { $0.value.row.id != id }
        do throws(SystemError) { try directory.remove(id.description) } catch { throw StoreError(error) }
    }
}
