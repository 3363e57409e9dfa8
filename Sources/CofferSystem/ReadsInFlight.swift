internal import CCofferSystem
internal import Glibc

/// A read that the disk works on, for `ReadsInFlight`.
package protocol StartedRead: AnyObject {
    /// Called once, when the read has ended and its buffer belongs to the program again.
    ///
    /// - Parameter result: The number of bytes read, or the negated errno.
    func end(_ result: Int)
}

/// Reads past the page cache that the disk works on while their thread does something else.
///
/// The thread starts reads, and calls `endNext` often; there are no other threads. The memory of a read stays
/// allocated until the read has ended (docs/adr/0032-reads-in-flight.md). Only one thread at a time may use
/// an object.
package final class ReadsInFlight {
    /// The maximum number of reads in flight.
    package static let countMax = 64
    /// For how many reads the thread sleeps at once after it had to sleep while reads were in flight.
    private static let restCount = 64

    private struct Flight {
        let read: any StartedRead
        /// Not used; keeps the memory that the kernel writes to.
        let buffer: AlignedBuffer
    }

    /// By the numbers that the kernel returns.
    private var flights = [Flight?](repeating: nil, count: countMax)
    private var free = Array(0..<countMax)
    private var rests = 0
    /// The kernel's context (io_setup(2)).
    private var kernel = Kernel.untried
    /// An eventfd(2) that each end of a read makes readable; -1 if there is none.
    private let alarm = Descriptor(owning: coffer_open_event())

    private enum Kernel {
        case untried
        /// The kernel gives no context, or refuses reads with it.
        case missing
        case open(UInt)
    }

    /// Begins without a context of the kernel; the first read asks for it.
    package init() {}

    deinit {
        // Returns once the kernel has ended all reads.
        if case .open(let context) = kernel { coffer_reads_close(context) }
    }

    /// The number of reads in flight.
    package var count: Int { Self.countMax - free.count }

    /// Whether another read can be started.
    package var hasRoom: Bool {
        if free.isEmpty { return false }
        if case .missing = kernel { return false }
        return true
    }

    /// Whether to poll for the end of a read before sleeping: not while the disk is slow.
    package var isWorthPolling: Bool { count > 0 && rests == 0 }

    /// Records that the thread had to sleep while reads were in flight.
    package func noteSleep() {
        if count > 0 { rests = Self.restCount }
    }

    /// A descriptor that is readable when a read has ended since the last `clearEvent`, for poll(2); poll
    /// ignores it if it is negative.
    package var event: Int32 { alarm.number }

    /// Makes `event` unreadable until another read ends.
    package func clearEvent() {
        var value: UInt64 = 0
        // It does not block, and there is nothing to do if it was not readable.
        _ = unsafe Glibc.read(alarm.number, &value, MemoryLayout<UInt64>.size)
    }

    /// Starts a read of a file opened with O_DIRECT.
    ///
    /// - Parameters:
    ///   - read: Its `end` is called by `endNext`, if this returns true.
    ///   - range: The bytes of the buffer to read into; they belong to the kernel until the read has ended.
    ///   - offset: The position in the file, in bytes.
    /// - Returns: False if the caller must read the usual way.
    func start(
        _ read: any StartedRead, _ descriptor: Int32, into buffer: AlignedBuffer, _ range: Range<Int>,
        at offset: Int
    ) -> Bool {
        precondition(range.lowerBound >= 0 && range.upperBound <= buffer.count)
        if case .untried = kernel { kernel = open() }
        guard case .open(let context) = kernel, let number = free.popLast() else { return false }
        flights[number] = Flight(read: read, buffer: buffer)
        // SAFETY: in bounds by the precondition; `flights` keeps the memory until `endNext` has this read.
        let code = unsafe coffer_reads_start(
            context, descriptor, buffer.start + range.lowerBound, range.count, offset, UInt64(number),
            alarm.number)
        if code == 0 {
            if rests > 0 { rests -= 1 }
            return true
        }
        flights[number] = nil
        free.append(number)
        // What a sandbox or a file system refuses, it refuses every time.
        if count == 0, code != -EAGAIN {
            coffer_reads_close(context)
            kernel = .missing
        }
        return false
    }

    /// Calls `end` of a read that has ended.
    ///
    /// - Parameter waits: Whether to wait until one has.
    /// - Returns: False if there is none.
    @discardableResult
    package func endNext(waits: Bool = false) -> Bool {
        guard count > 0, case .open(let context) = kernel else { return false }
        var number: UInt64 = 0
        var result: Int64 = 0
        guard unsafe coffer_reads_next(context, waits ? 1 : 0, &number, &result) == 1 else { return false }
        let index = Int(number)
        guard let flight = flights[index] else { preconditionFailure("read \(number) ended twice") }
        flights[index] = nil
        free.append(index)
        flight.read.end(Int(result))
        return true
    }

    private func open() -> Kernel {
        var context: UInt = 0
        guard alarm.number >= 0, unsafe coffer_reads_open(&context, Int32(Self.countMax)) == 0 else {
            return .missing
        }
        return .open(context)
    }
}
