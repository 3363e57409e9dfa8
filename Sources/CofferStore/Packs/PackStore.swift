package import CofferFormat
package import CofferSystem

/// The packs of one vault on this device: append-only files of sealed extents.
///
/// Small extents gather in a tail in memory; `writer` writes full tails and large extents. For one thread at
/// a time, under the vault's lock. `PackFile` and `writer`, which may block for long, can be used without
/// that lock.
package final class PackStore {
    /// The size at which a pack takes no more extents, in bytes.
    package static let packByteCount = 16 << 20
    /// The largest sealed extent that goes through the tail, in bytes.
    package static let tailPieceMax = 256 << 10
    private static let tailByteCount = 1 << 20
    private static let openFilesMax = 128

    private let directory: any StorageDirectory
    private let vault: VaultID
    private var packs: [Int64: Pack] = [:]
    /// Packs without a row whose files still exist.
    ///
    /// If the disk fails, their removal may never be committed; then the last commit refers to them, and they
    /// remain readable.
    private var leaving: [Int64: Pack] = [:]
    private var current: Int64?
    /// Whether packs have names that are not synced to disk.
    private var directoryIsDirty = false
    /// Writes large extents and full tails.
    package let writer = PackWriter()
    /// The queued extents that were not in their files at the last `noteWritten`, and their bytes.
    private var inFlight = PackWriter.Written()
    /// A buffer of `writer`, while it contains something.
    private var tail: AlignedBuffer?
    private var tailCount = 0
    /// The number of plaintext bytes in the tail that rows refer to.
    private var tailLive: Int64 = 0
    /// The position of the tail in the current pack's file.
    private var tailStart = 0
    /// The extents in the tail.
    package private(set) var pending: [PendingExtent] = []
    /// The number of plaintext bytes in all packs that rows refer to.
    package private(set) var liveByteCount: Int64 = 0
    /// The number of reads so far.
    private var useCount = 0
    /// The number of bytes written to files since the last `takeDirtyFiles`.
    private var dirtyByteCount = 0

    /// An extent that is in the tail and in the index, but not in a file yet.
    package struct PendingExtent: Sendable {
        /// The item's number.
        package let item: Int64
        /// The offset of the extent in the item, in bytes.
        package let base: Int64
        /// The size of the extent's plaintext, in bytes.
        package let total: Int64
        /// The pack's number.
        package let pack: Int64
        /// The future position of the sealed extent in the pack's file, in bytes.
        package let position: Int64
        /// The size of the sealed extent, including tags, in bytes.
        package let sealedByteCount: Int
    }

    private struct Pack {
        var row: PackRow
        /// The row in the index; nil if there is none yet.
        var stored: PackRow?
        var file: PackFile?
        var isDirty = false
        /// The number of extents that may not be in the file yet.
        var inFlight = 0
        /// The number of plaintext bytes that were dead when they came, and are not freed.
        var deadFromStart: Int64 = 0
        /// The number of the read that used it last; 0 if there was none since the store was opened.
        var lastUse = 0
    }

    /// Opens the packs that the index names, and removes other pack files, which a crash left.
    ///
    /// - Parameter keepsOthers: Whether to keep such files, because commits that named them may have been
    ///   lost.
    package init(
        in directory: any StorageDirectory, vault: VaultID, rows: [PackRow], isReadOnly: Bool = false,
        keepsOthers: Bool = false
    ) throws(FileSystemError) {
        self.directory = directory
        self.vault = vault
        for row in rows { packs[row.number] = Pack(row: row, stored: row) }
        liveByteCount = rows.reduce(0) { $0 + $1.live }
        if isReadOnly { return }
        let known = Set(rows.map(\.id.description))
        do throws(SystemError) {
            for name in keepsOthers ? [] : try directory.list()
            where !known.contains(name) && PackID(hexadecimal: name) != nil {
                try directory.remove(name)
            }
        } catch {
            throw FileSystemError(error)
        }
        try resume()
    }

    /// Continues with the latest pack, after anything that a crash may have left at its end.
    private func resume() throws(FileSystemError) {
        guard let latest = packs.keys.max(), let file = try? openFile(latest) else { return }
        let size = try file.size()
        guard size >= PackHeader.byteCount, size < Self.packByteCount else { return }
        current = latest
        tailStart = size
    }

    /// The pack that new extents go to.
    package var currentNumber: Int64? { current }

    /// The current row of every pack.
    package var rows: [PackRow] { packs.values.map(\.row) }

    // MARK: Appending

    /// Allocates a place for a large sealed extent, at the beginning of a page, and queues it for writing.
    ///
    /// - Parameters:
    ///   - buffer: A buffer of `writer`, which owns it from now on.
    ///   - count: The size of the sealed extent in bytes; `plaintext` is the size of its plaintext.
    /// - Returns: The pack, and the position in it.
    package func write(
        _ buffer: AlignedBuffer, count: Int, plaintext: Int64, newPack: () -> (Int64, PackID)
    ) throws(FileSystemError) -> (pack: Int64, position: Int) {
        try writeTail()
        let number = try roomyPack(for: count + 2 * PackFile.pageByteCount, newPack: newPack)
        let file = try openFile(number)
        let position = PackFile.wholePages(tailStart)
        tailStart = position + PackFile.wholePages(count)
        countContent(plaintext, in: number)
        packs[number]?.inFlight += 1
        inFlight.add(count)
        writer.write(buffer, count: count, live: plaintext, to: file, pack: number, at: position)
        return (number, position)
    }

    /// Subtracts `count` from the plaintext bytes that rows refer to, of the extent at `position`.
    ///
    /// A large extent without references need not reach the disk.
    package func drop(_ number: Int64, at position: Int, _ count: Int64) {
        addLive(-count, to: number)
        if isInTail(number, at: position) { tailLive -= count }
        if inFlight.extentCount > 0 { writer.drop(number, at: position, count) }
    }

    /// Whether the extent at a position of a pack is in the tail.
    package func isInTail(_ number: Int64, at position: Int) -> Bool {
        number == current && position >= tailStart && position < tailStart + tailCount
    }

    /// Accounts for the extents that have reached their files, or no longer need to.
    package func noteWritten() {
        for (number, written) in writer.takeWritten() {
            packs[number]?.inFlight -= written.extentCount
            inFlight.extentCount -= written.extentCount
            inFlight.byteCount -= written.byteCount
            markDirty(number, written.byteCount)
        }
    }

    /// Whether `append` would need a new buffer for `count` sealed bytes.
    package func needsBuffer(for count: Int) -> Bool {
        tail == nil || current == nil || tailCount + count > Self.tailByteCount
            || tailStart + tailCount + count + PackFile.pageByteCount > Self.packByteCount
    }

    /// The number of large extents and full tails that may not be in their files.
    package var inFlightCount: Int { inFlight.extentCount }

    /// Appends a small sealed extent to the tail.
    ///
    /// - Parameter spare: A buffer of `writer` for a new tail, taken if one is needed; without it, `append`
    ///   may wait for one.
    /// - Returns: The pack, and the position in it.
    package func append(
        _ sealed: RawSpan, item: Int64, base: Int64, total: Int64, spare: inout AlignedBuffer?,
        newPack: () -> (Int64, PackID)
    ) throws(FileSystemError) -> (pack: Int64, position: Int) {
        precondition(sealed.byteCount <= Self.tailPieceMax)
        if tailCount + sealed.byteCount > Self.tailByteCount { try writeTail() }
        let number = try roomyPack(for: sealed.byteCount + PackFile.pageByteCount, newPack: newPack)
        let tail = if let tail { tail } else if let spare { spare } else { try writer.takeBuffer() }
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
        countContent(total, in: number)
        return (number, position)
    }

    private func countContent(_ plaintext: Int64, in number: Int64) {
        packs[number]?.row.written += plaintext
        addLive(plaintext, to: number)
    }

    private func markDirty(_ number: Int64, _ count: Int) {
        packs[number]?.isDirty = true
        dirtyByteCount += count
    }

    /// The current pack, or a new one if that has no space.
    private func roomyPack(for count: Int, newPack: () -> (Int64, PackID)) throws(FileSystemError) -> Int64 {
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
            throw FileSystemError(error)
        }
        directoryIsDirty = true
        current = number
        tailStart = PackHeader.byteCount
        return number
    }

    /// Queues the tail for writing.
    package func writeTail() throws(FileSystemError) {
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

    /// The bytes of an extent that may not be in its file yet; nil if the file has them.
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

    /// Lends the bytes of an extent; nil if they are no longer in the tail.
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

    /// The number of sealed bytes in the tail.
    package var pendingByteCount: Int { tailCount }

    /// Empties the tail without writing it, after its extents were put into rows of the index.
    package func dropTail() {
        for extent in pending { packs[extent.pack]?.row.written -= extent.total }
        tailCount = 0
        tailLive = 0
        pending.removeAll(keepingCapacity: true)
    }

    // MARK: Reading

    /// Opens the file of a pack.
    package func openFile(_ number: Int64) throws(FileSystemError) -> PackFile {
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
            throw FileSystemError(error)
        }
    }

    /// Records that a pack was read.
    package func noteUse(of number: Int64) {
        useCount += 1
        packs[number]?.lastUse = useCount
    }

    /// When a pack was last read, as a growing number; 0 if it was not read since the store was opened.
    package func lastUse(of number: Int64) -> Int { packs[number]?.lastUse ?? 0 }

    private func closeSomeFiles() {
        for (number, pack) in packs
        where !pack.isDirty && pack.inFlight == 0 && number != current && pack.file != nil {
            packs[number]?.file = nil
        }
    }

    /// The id of a pack, for messages.
    package func id(of number: Int64) -> PackID? { packs[number]?.row.id }

    // MARK: Accounting and syncing

    /// Changes the number of plaintext bytes of a pack that ranges refer to.
    package func addLive(_ difference: Int64, to number: Int64) {
        guard packs[number] != nil else { return }
        packs[number]?.row.live += difference
        liveByteCount += difference
    }

    /// Records plaintext bytes of a pack that were dead when their extent was placed, and are not freed.
    package func noteDeadFromStart(_ count: Int64, in number: Int64) {
        packs[number]?.deadFromStart += count
    }

    /// The disk space of a pack that moving its extents would free, in bytes.
    ///
    /// Does not count whole pages that were returned to the disk, a file system's overhead, nor what would be moved
    /// as well, as far as that is known since the store was opened.
    package func wastedByteCount(of number: Int64) throws(FileSystemError) -> Int {
        guard let pack = packs[number] else { return 0 }
        let stays = pack.row.live + pack.deadFromStart
        let needed = ExtentLayout.sealedByteCount(Int(stays))
        let dead = ExtentLayout.sealedByteCount(Int(max(0, pack.row.written - stays)))
        return max(0, min(dead, try openFile(number).allocatedByteCount() - needed))
    }

    /// Whether everything that was appended, except the tail, is in synced files.
    package var isSynced: Bool { dirtyByteCount == 0 && !directoryIsDirty && inFlight.extentCount == 0 }

    /// The largest number of sealed bytes that the disk may not have taken yet.
    package var unwrittenByteCount: Int {
        tailCount + min(inFlight.byteCount, PackWriter.slotCount * PackWriter.slotByteCount)
    }

    /// The number of appended bytes that may not be on disk.
    package var unsyncedByteCount: Int { dirtyByteCount + inFlight.byteCount + tailCount }

    /// Takes the files with bytes that may not be on disk.
    ///
    /// They count as clean from now on, so the caller must sync them, and stop the store if that fails.
    package func takeDirtyFiles() throws(FileSystemError) -> DirtyFiles {
        let numbers = packs.filter(\.value.isDirty).map(\.key)
        var files: [PackFile] = []
        for number in numbers { files.append(try openFile(number)) }
        for number in numbers { packs[number]?.isDirty = false }
        let dirty = DirtyFiles(files: files, directory: directoryIsDirty ? directory : nil)
        directoryIsDirty = false
        dirtyByteCount = 0
        return dirty
    }

    /// Updates the rows of the packs.
    ///
    /// - Returns: The packs without references; their files can be removed once the commit is on disk.
    package func storeRows(in index: Index) throws(FileSystemError) -> [PackID] {
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
    package func removeFile(_ id: PackID) throws(FileSystemError) {
        leaving = leaving.filter { $0.value.row.id != id }
        do throws(SystemError) { try directory.remove(id.description) } catch { throw FileSystemError(error) }
    }
}
