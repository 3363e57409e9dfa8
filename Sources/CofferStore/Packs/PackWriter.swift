internal import CofferFormat
package import CofferSystem

/// Sealed extents on their way to the packs, past the page cache and without keeping their writers waiting:
/// large ones, and tails full of small ones, which count as one here.
///
/// Rows may refer to an extent as soon as it is handed over: until it is in its file, reads find it here,
/// and a commit calls `finish` first. If the disk is full, extents stay here, and `finish` tries again.
/// Safe for several threads; takes no other lock.
package final class PackWriter: Sendable {
    /// Buffers, one of which gathers small extents.
    static let slotCount = 6
    /// Bytes of a slot: a sealed extent in whole pages.
    static let slotByteCount = PackFile.wholePages(
        ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax))

    /// An extent that is being written.
    private struct Extent {
        let buffer: AlignedBuffer
        let file: PackFile
        let pack: Int64
        let position: Int
        let count: Int
        /// Its place in the order in which extents were handed over.
        let number: Int
        /// Plaintext bytes of it that rows refer to.
        var live: Int64

        func holds(_ place: Range<Int>) -> Bool {
            place.lowerBound >= position && place.lowerBound < position + count
                && place.upperBound <= position + count
        }
    }

    private enum Turn {
        case take(AlignedBuffer)
        case write
        case refuse(StoreError)
    }

    private struct State {
        var free: [AlignedBuffer] = []
        var made = 0
        /// In line, being written, and those that could not be written.
        var waiting: [Extent] = []
        var active: [Extent] = []
        var stuck: [Extent] = []
        /// Extents that were ever handed over.
        var handedOver = 0
        /// Packs with bytes that were written since the last `takeWritten`, and how many.
        var written: [Int64: Written] = [:]
        var failure: StoreError?

        var all: [Extent] { waiting + active + stuck }

        /// What somebody who wants a buffer is to do; nil if it waits.
        mutating func nextTurn() -> Turn? {
            if let failure { return .refuse(failure) }
            if let buffer = free.popLast() { return .take(buffer) }
            if made < slotCount {
                made += 1
                return .take(AlignedBuffer(count: slotByteCount))
            }
            if !waiting.isEmpty { return .write }
            return stuck.count >= slotCount - 1 ? .refuse(.noSpace) : nil
        }

        /// Ends the way of an extent: it is in its file, or nobody needs it any more.
        mutating func settle(_ extent: Extent) {
            written[extent.pack, default: Written()].add(extent.count)
            free.append(extent.buffer)
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
            switch state.wait(for: { $0.nextTurn() }) {
            case .take(let buffer): return buffer
            case .write: _ = writeNext()
            case .refuse(let error): throw error
            }
        }
    }

    /// Takes a buffer back that is not to be written.
    package func giveBack(_ buffer: AlignedBuffer) {
        state.update { $0.free.append(buffer) }
    }

    /// Hands over an extent for its place in a pack; what is behind it up to the page's end is written too.
    ///
    /// - Parameter live: Its plaintext bytes.
    func write(
        _ buffer: AlignedBuffer, count: Int, live: Int64, to file: PackFile, pack: Int64, at position: Int
    ) {
        buffer.withMutableBytes(count..<PackFile.wholePages(count)) { $0.zero() }
        state.withLock { state in
            state.handedOver += 1
            state.waiting.append(
                Extent(
                    buffer: buffer, file: file, pack: pack, position: position, count: count,
                    number: state.handedOver, live: live))
        }
        // Without a thread it is written by whoever needs it in its file, or its buffer.
        workers.call({ [self] in writeNext() }, leaving: { [self] in rest() })
    }

    /// The bytes of an extent that is not in its file yet.
    func bytes(_ pack: Int64, at position: Int, count: Int) -> [UInt8]? {
        state.withLock { state in
            let place = position..<position + max(0, count)
            guard let extent = state.all.first(where: { $0.pack == pack && $0.holds(place) }) else {
                return nil
            }
            return extent.buffer.withBytes(position - extent.position..<place.upperBound - extent.position) {
                $0.array
            }
        }
    }

    /// Returns once all extents that were handed over before are in their files; the files are not synced.
    ///
    /// Does not wait for those that come meanwhile: there may be no end of them.
    ///
    /// - Throws: `.noSpace`; they are then kept. Any other error: what is in the packs is not known any more.
    package func finish() throws(StoreError) {
        let last = state.withLock { $0.handedOver }
        // What failed before is tried again; so is what fails at this moment in another thread.
        for _ in 0..<2 {
            state.withLock { state in
                state.waiting = state.stuck + state.waiting
                state.stuck = []
            }
            repeat { while writeNext(upTo: last) {} } while isWaiting(upTo: last)
            let isDone = try state.withLock { state throws(StoreError) in
                if let failure = state.failure { throw failure }
                return !state.all.contains { $0.number <= last }
            }
            if isDone { return }
        }
        throw .noSpace
    }

    /// Waits for extents that others write.
    ///
    /// - Returns: Whether there are more to write, as another thread tries again what failed.
    private func isWaiting(upTo last: Int) -> Bool {
        state.wait { state in
            if state.waiting.contains(where: { $0.number <= last }) { return true }
            return state.active.contains { $0.number <= last } ? nil : false
        }
    }

    /// Notes that rows refer to `count` plaintext bytes less of an extent.
    ///
    /// One that nothing refers to is not written: removing a file must help where the disk has no room for it.
    func drop(_ pack: Int64, at position: Int, _ count: Int64) {
        state.update { state in
            func isMeant(_ extent: Extent) -> Bool {
                extent.pack == pack && extent.holds(position..<position)
            }
            if let index = state.active.firstIndex(where: isMeant) {
                state.active[index].live -= count
            } else if let index = state.waiting.firstIndex(where: isMeant) {
                state.waiting[index].live -= count
                if state.waiting[index].live <= 0 { state.settle(state.waiting.remove(at: index)) }
            } else if let index = state.stuck.firstIndex(where: isMeant) {
                state.stuck[index].live -= count
                if state.stuck[index].live <= 0 { state.settle(state.stuck.remove(at: index)) }
            }
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

    /// Writes the next extent that was handed over as one of the first `last`; false if none waits.
    private func writeNext(upTo last: Int = .max) -> Bool {
        let next = state.withLock { state -> Extent? in
            guard let index = state.waiting.firstIndex(where: { $0.number <= last }) else { return nil }
            let extent = state.waiting.remove(at: index)
            state.active.append(extent)
            return extent
        }
        guard let next else { return false }
        var failure: StoreError?
        do throws(StoreError) {
            try next.file.writeDirectly(next.buffer, count: next.count, at: next.position)
        } catch {
            failure = error
        }
        state.update { state in
            guard let index = state.active.firstIndex(where: { $0.number == next.number }) else { return }
            let extent = state.active.remove(at: index)
            if failure == nil || extent.live <= 0 { state.settle(extent) } else { state.stuck.append(extent) }
            guard let failure else { return }
            if case .noSpace = failure { return }
            state.failure = state.failure ?? failure
        }
        return true
    }

    /// Gives memory back that nobody needs for now.
    private func rest() {
        // Wiped without the lock.
        let free = state.withLock { state in
            defer {
                state.made -= state.free.count
                state.free = []
            }
            return state.free
        }
        withExtendedLifetime(free) {}
    }
}
