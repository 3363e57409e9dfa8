internal import CCofferSystem
internal import Glibc

/// Reads past the page cache that poll for completion instead of sleeping.
///
/// A fast disk answers sooner than an idle processor of a virtual machine wakes up: with reads of 4 KiB,
/// polling saves a quarter of the time (docs/adr/0019-polled-reads.md). If the disk is slower, reads sleep as
/// usual. Only one thread at a time may use an object.
package final class PolledReads {
    /// How long to poll before sleeping, in nanoseconds.
    private static let spin: Int64 = 100_000
    /// How many reads sleep at once after a read that outlasted `spin`.
    private static let restCount = 64

    /// The kernel's context (io_setup(2)), or 0 if the kernel gives none.
    ///
    /// Created on first use, because a process that has one takes longer to end.
    private lazy var context: UInt = {
        var context: UInt = 0
        hasAsked = true
        return unsafe coffer_reads_open(&context, 1) == 0 ? context : 0
    }()
    private var hasAsked = false
    private var rests = 0

    /// Begins without a context of the kernel.
    package init() {}

    deinit {
        if hasAsked, context != 0 { coffer_reads_close(context) }
    }

    /// Reads up to `buffer.byteCount` bytes at `offset` of a file opened with O_DIRECT.
    ///
    /// - Parameter meanwhile: Runs once; while the disk works, if there is a context.
    /// - Returns: The number of bytes read; nil if the caller must read the usual way.
    func read(
        _ descriptor: Int32, into buffer: inout MutableRawSpan, at offset: Int, meanwhile: () -> Void,
        subject: String
    ) throws(SystemError) -> Int? {
        let context = context
        // SAFETY: the kernel writes into the buffer until the wait below returns, and the buffer outlives the
        // call.
        let started = unsafe buffer.withUnsafeMutableBytes { bytes in
            guard context != 0 else { return false }
            return unsafe coffer_reads_start(
                context, descriptor, bytes.baseAddress, bytes.count, offset, 0, -1) == 0
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
