package import CofferFormat
package import CofferSystem

/// Writes sealed extents to the packs, past the page cache and in the background.
///
/// It takes large extents, and full tails of small ones, each of which counts as one extent here. Rows may
/// refer to an extent as soon as `write` has it: until it is in its file, reads find it here, and a commit
/// calls `finish` first. If the disk is full, extents stay here, and `finish` tries again. Thread-safe; takes
/// no other lock.
package final class PackWriter: Sendable {
    /// The number of buffers, one of which gathers small extents.
    static let slotCount = 6
    /// The size of a buffer: a sealed extent, rounded up to whole pages.
    static let slotByteCount = PackFile.wholePages(
        ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax))

    /// An extent on its way to a pack.
    private struct Extent {
        let buffer: AlignedBuffer
        let file: PackFile
        let pack: Int64
        let position: Int
        let count: Int
        /// Its number in the order of calls to `write`.
        let number: Int
        /// The number of its plaintext bytes that rows refer to.
        var live: Int64

        func holds(_ place: Range<Int>) -> Bool {
            place.lowerBound >= position && place.lowerBound < position + count
                && place.upperBound <= position + count
        }
    }

    private enum Turn {
        case take(AlignedBuffer)
        case write
        case refuse(FileSystemError)
    }

    private struct State {
        var free: [AlignedBuffer] = []
        var made = 0
        /// Queued, being written, and failed extents.
        var waiting: [Extent] = []
        var active: [Extent] = []
        var stuck: [Extent] = []
        /// The number of extents that were ever queued.
        var handedOver = 0
        /// What was written to each pack since the last `takeWritten`.
        var written: [Int64: Written] = [:]
        var failure: FileSystemError?

        var all: [Extent] { waiting + active + stuck }

        /// What a caller that needs a buffer must do; nil to wait.
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

        /// Records that an extent is complete: it is in its file, or no longer needed.
        mutating func complete(_ extent: Extent) {
            written[extent.pack, default: Written()].add(extent.count)
            free.append(extent.buffer)
        }
    }

    /// The amount that was written to a pack.
    package struct Written {
        /// The numbers of bytes and of extents.
        package internal(set) var byteCount = 0, extentCount = 0

        mutating func add(_ count: Int) {
            byteCount += count
            extentCount += 1
        }
    }

    private let state = Condition(State(), rank: .leaf)
    private let workers = Workers("coffer-write", max: 2)

    /// Takes a buffer to seal into; waits for the disk while all are in use.
    ///
    /// - Throws: `.noSpace` if all buffers are kept because the disk is full.
    package func takeBuffer() throws(FileSystemError) -> AlignedBuffer {
        while true {
            switch state.wait(for: { $0.nextTurn() }) {
            case .take(let buffer): return buffer
            case .write: _ = writeNext()
            case .refuse(let error): throw error
            }
        }
    }

    /// Returns a buffer that will not be written.
    package func giveBack(_ buffer: AlignedBuffer) {
        state.update { $0.free.append(buffer) }
    }

    /// Queues an extent for its place in a pack; also writes the rest of its last page, as zeros.
    ///
    /// - Parameter live: The number of its plaintext bytes.
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
        // Without a thread, the caller that needs the extent in its file, or its buffer, writes it.
        workers.call({ [self] in writeNext() }, leaving: { [self] in rest() })
    }

    /// The bytes of an extent that is not in its file yet; nil if there is none.
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

    /// Returns once all extents queued before the call are in their files; the files are not synced.
    ///
    /// Does not wait for extents that arrive during the call, since those might never end.
    ///
    /// - Throws: `.noSpace`; the extents are then kept. After any other error, the contents of the packs are
    ///   unknown.
    package func finish() throws(FileSystemError) {
        let last = state.withLock { $0.handedOver }
        // Earlier failures are tried again; so are those that happen in another thread at this moment.
        for _ in 0..<2 {
            state.withLock { state in
                state.waiting = state.stuck + state.waiting
                state.stuck = []
            }
            repeat { while writeNext(upTo: last) {} } while isWaiting(upTo: last)
            let isDone = try state.withLock { state throws(FileSystemError) in
                if let failure = state.failure { throw failure }
                return !state.all.contains { $0.number <= last }
            }
            if isDone { return }
        }
        throw .noSpace
    }

    /// Waits for extents that other threads write.
    ///
    /// - Returns: Whether there are more to write, because another thread retries what failed.
    private func isWaiting(upTo last: Int) -> Bool {
        state.wait { state in
            if state.waiting.contains(where: { $0.number <= last }) { return true }
            return state.active.contains { $0.number <= last } ? nil : false
        }
    }

    /// Subtracts `count` from the plaintext bytes of an extent that rows refer to.
    ///
    /// An extent without references is not written, so that removing a file helps when the disk is full.
    func drop(_ pack: Int64, at position: Int, _ count: Int64) {
        state.update { state in
            func isMeant(_ extent: Extent) -> Bool {
                extent.pack == pack && extent.holds(position..<position)
            }
            if let index = state.active.firstIndex(where: isMeant) {
                state.active[index].live -= count
            } else if let index = state.waiting.firstIndex(where: isMeant) {
                state.waiting[index].live -= count
                if state.waiting[index].live <= 0 { state.complete(state.waiting.remove(at: index)) }
            } else if let index = state.stuck.firstIndex(where: isMeant) {
                state.stuck[index].live -= count
                if state.stuck[index].live <= 0 { state.complete(state.stuck.remove(at: index)) }
            }
        }
    }

    /// Takes the amounts written since the last call, by pack.
    func takeWritten() -> [Int64: Written] {
        state.withLock { state in
            defer { state.written = [:] }
            return state.written
        }
    }

    /// Stops the threads, after the queued extents are written.
    package func stop() {
        workers.stop()
    }

    /// Writes the next queued extent among the first `last`; false if there is none.
    private func writeNext(upTo last: Int = .max) -> Bool {
        let next = state.withLock { state -> Extent? in
            guard let index = state.waiting.firstIndex(where: { $0.number <= last }) else { return nil }
            let extent = state.waiting.remove(at: index)
            state.active.append(extent)
            return extent
        }
        guard let next else { return false }
        var failure: FileSystemError?
        do throws(FileSystemError) {
            try next.file.writeDirectly(next.buffer, count: next.count, at: next.position)
        } catch {
            failure = error
        }
        state.update { state in
            guard let index = state.active.firstIndex(where: { $0.number == next.number }) else { return }
            let extent = state.active.remove(at: index)
            if failure == nil || extent.live <= 0 {
                state.complete(extent)
            } else {
                state.stuck.append(extent)
            }
            guard let failure else { return }
            if case .noSpace = failure { return }
            state.failure = state.failure ?? failure
        }
        return true
    }

    /// Frees the unused buffers.
    private func rest() {
        // The lock is released before the memory is wiped.
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
