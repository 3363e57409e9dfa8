internal import CofferFormat
package import CofferSystem

/// Sealed extents on their way to the packs, past the page cache and without keeping their writers waiting:
/// large ones, and tails full of small ones.
///
/// Rows may refer to an extent as soon as it is handed over: until it is in its file, reads find it here,
/// and a commit calls `finish` first. If the disk is full, extents stay here, and `finish` tries again.
/// Safe for several threads; takes no other lock.
package final class PackWriter: Sendable {
    /// Buffers, one of which gathers small extents.
    private static let slotCount = 6
    /// Bytes of a slot: a sealed extent in whole pages.
    private static let slotByteCount = PackFile.wholePages(
        ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax))

    /// An extent that is being written.
    private struct Extent {
        let buffer: AlignedBuffer
        let file: PackFile
        let pack: Int64
        let position: Int
        let count: Int
    }

    private struct State {
        var free: [AlignedBuffer] = []
        var made = 0
        /// In line, being written, and those that could not be written.
        var waiting: [Extent] = []
        var active: [Extent] = []
        var stuck: [Extent] = []
        /// Packs with bytes that were written since the last `takeWritten`, and how many.
        var written: [Int64: Written] = [:]
        var failure: StoreError?

        var all: [Extent] { waiting + active + stuck }

        /// Whether all that was handed over is written.
        var isDone: Bool {
            get throws(StoreError) {
                if let failure { throw failure }
                return stuck.isEmpty
            }
        }
    }

    /// What was written to a pack.
    package struct Written {
        /// Bytes and extents.
        package internal(set) var byteCount = 0, extentCount = 0

        mutating func add(_ count: Int) {
            byteCount += count
            extentCount += 1
        }
    }

    private let state = Condition(State())
    private let workers = Workers("coffer-write", max: 2)

    /// A buffer to seal into; waits for the disk while all are on their way.
    ///
    /// - Throws: `.noSpace` if all are kept since the disk is full.
    package func take() throws(StoreError) -> AlignedBuffer {
        while true {
            let isFull = try state.withLock { state throws(StoreError) -> Bool in
                if let failure = state.failure { throw failure }
                return state.free.isEmpty && state.made == Self.slotCount
            }
            if isFull, writeNext() { continue }
            let buffer = state.wait { state -> AlignedBuffer?? in
                if let buffer = state.free.popLast() { return buffer }
                if state.made < Self.slotCount {
                    state.made += 1
                    return AlignedBuffer(count: Self.slotByteCount)
                }
                return state.failure != nil || state.stuck.count >= Self.slotCount - 1 ? .some(nil) : nil
            }
            if let buffer { return buffer }
            if state.withLock({ $0.failure == nil }) { throw .noSpace }
        }
    }

    /// Takes a buffer back that is not to be written.
    package func giveBack(_ buffer: AlignedBuffer) {
        state.update { $0.free.append(buffer) }
    }

    /// Hands over an extent for its place in a pack; what is behind it up to the page's end is written too.
    func write(_ buffer: AlignedBuffer, count: Int, to file: PackFile, pack: Int64, at position: Int) {
        buffer.withMutableBytes(count..<PackFile.wholePages(count)) { $0.zero() }
        let extent = Extent(buffer: buffer, file: file, pack: pack, position: position, count: count)
        state.withLock { $0.waiting.append(extent) }
        callWorkers()
    }

    /// The bytes of an extent that is not in its file yet.
    func bytes(_ pack: Int64, at position: Int, count: Int) -> [UInt8]? {
        state.withLock { state in
            guard
                let extent = state.all.first(where: {
                    $0.pack == pack && $0.position <= position && position + count <= $0.position + $0.count
                })
            else { return nil }
            let start = position - extent.position
            return extent.buffer.withBytes(start..<start + count) { $0.array }
        }
    }

    /// Returns once all extents that were handed over are in their files; the files are not synced.
    ///
    /// - Throws: `.noSpace`; they are then kept. Any other error: what is in the packs is not known any more.
    package func finish() throws(StoreError) {
        // What failed before is tried again; so is what fails at this moment in another thread.
        for _ in 0..<2 {
            state.withLock { state in
                state.waiting += state.stuck
                state.stuck = []
            }
            while writeNext() {}
            let isDone = try state.wait { $0.waiting.isEmpty && $0.active.isEmpty ? $0 : nil }.isDone
            if isDone { return }
        }
        throw .noSpace
    }

    /// Gives up an extent that nothing refers to any more, if it could not be written.
    ///
    /// - Returns: Whether it was given up.
    func drop(_ pack: Int64, at position: Int, count: Int) -> Bool {
        state.update { state in
            guard
                let index = state.stuck.firstIndex(where: {
                    $0.pack == pack && $0.position == position && $0.count == count
                })
            else { return false }
            state.free.append(state.stuck.remove(at: index).buffer)
            return true
        }
    }

    /// What was written since the last call, by pack.
    func takeWritten() -> [Int64: Written] {
        state.withLock { state in
            defer { state.written = [:] }
            return state.written
        }
    }

    /// Ends the threads; what is on its way is written first.
    package func stop() {
        workers.stop()
    }

    private func callWorkers() {
        workers.call({ [self] in writeNext() }, leaving: { [self] in rest() })
    }

    private func writeNext() -> Bool {
        let next = state.withLock { state -> Extent? in
            guard !state.waiting.isEmpty else { return nil }
            let extent = state.waiting.removeFirst()
            state.active.append(extent)
            return extent
        }
        guard let extent = next else { return false }
        var failure: StoreError?
        do throws(StoreError) {
            try extent.file.writeDirectly(extent.buffer, count: extent.count, at: extent.position)
        } catch {
            failure = error
        }
        state.update { state in
            state.active.removeAll { $0.buffer === extent.buffer }
            if let failure {
                state.stuck.append(extent)
                if case .noSpace = failure { return }
                state.failure = state.failure ?? failure
            } else {
                state.written[extent.pack, default: Written()].add(extent.count)
                state.free.append(extent.buffer)
            }
        }
        return true
    }

    /// Gives memory back that nobody needs for now.
    private func rest() {
        state.withLock { state in
            state.made -= state.free.count
            state.free = []
        }
    }
}
