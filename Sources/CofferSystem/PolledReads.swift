internal import CCofferSystem
internal import Glibc

/// Reads past the page cache that look for their end instead of sleeping until it.
///
/// A fast disk answers sooner than an idle processor of a virtual machine is woken: with 4 KiB reads that is a
/// quarter of the time (docs/adr/0019-polled-reads.md). Where the disk is slower than that, reads sleep as usual.
/// Belongs to one thread at a time.
package final class PolledReads {
    /// How long to look before sleeping, in nanoseconds.
    private static let spin: Int64 = 100_000
    /// Reads that sleep at once after one that the disk took longer for.
    private static let restCount = 64

    /// The kernel's context (io_setup(2)), or 0 where there is none to be had.
    ///
    /// Made when it is first needed: a process that has one takes the kernel longer to end.
    private lazy var context: UInt = {
        var context: UInt = 0
        hasAsked = true
        return unsafe coffer_reads_open(&context) == 0 ? context : 0
    }()
    private var hasAsked = false
    private var rests = 0

    /// Nothing is asked of the kernel yet.
    package init() {}

    deinit {
        if hasAsked, context != 0 { coffer_reads_close(context) }
    }

    /// Reads up to `buffer.byteCount` bytes at `offset` of a file opened with O_DIRECT.
    ///
    /// - Parameter meanwhile: Runs once, while the disk works if it can.
    /// - Returns: Bytes that were read; nil if the read is to be made the usual way.
    func read(
        _ descriptor: Int32, into buffer: inout MutableRawSpan, at offset: Int, meanwhile: () -> Void,
        subject: String
    ) throws(SystemError) -> Int? {
        let context = context
        // SAFETY: the kernel writes into the buffer, which outlives the call, until the wait below returns.
        let started = unsafe buffer.withUnsafeMutableBytes { bytes in
            guard context != 0 else { return false }
            return unsafe coffer_reads_start(context, descriptor, bytes.baseAddress, bytes.count, offset) == 0
        }
        meanwhile()
        guard started else { return nil }
        var slept: Int32 = 0
        let count = unsafe coffer_reads_wait(context, rests > 0 ? 0 : Self.spin, &slept)
        if rests > 0 { rests -= 1 } else if slept != 0 { rests = Self.restCount }
        if count < 0 { throw SystemError("read", code: Int32(-count), on: subject) }
        return count
    }
}
