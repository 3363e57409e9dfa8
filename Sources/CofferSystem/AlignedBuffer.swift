internal import CCofferSystem
internal import Glibc

/// Memory for bulk data, aligned for O_DIRECT and excluded from core dumps.
///
/// Wiped when it is freed, unless it was allocated for sealed data.
@safe
package final class AlignedBuffer: Sendable {
    /// Buffers of at least this many bytes have a mapping of their own, so that the kernel gets the memory
    /// back as soon as they are freed.
    private static let mappedByteCountMin = 2 << 20

    // SAFETY: this object owns `start` from init to deinit, and no access leaves its bounds. What the compiler
    // cannot see is that no thread writes bytes that another thread is using: a pool (`BufferPool`, `PackWriter`,
    // the slots of `ReadAhead`) gives each buffer, or part of one, to one owner at a time, under its lock;
    // threads that fill one pack (`PackFilling`) have places in it that do not overlap, and the thread that sends
    // it waits for all of them; bytes that a `BufferPart` shares, as extents and leaves from a remote, are written
    // before it is made, and only read from then on.
    @usableFromInline nonisolated(unsafe) let start: UnsafeMutableRawPointer
    /// Its size in bytes.
    package let count: Int
    private let isWiped: Bool

    /// Allocates `count` zeroed bytes, rounded up to whole pages.
    package convenience init(count: Int) {
        self.init(count, isWiped: true)
        withMutableBytes(0..<self.count) { $0.zero() }
    }

    /// Allocates `count` bytes, rounded up to whole pages, for sealed data.
    ///
    /// Only pages that are written take up memory. The initial content is arbitrary, and must not leave the
    /// process.
    package convenience init(forSealed count: Int) {
        self.init(count, isWiped: false)
    }

    private init(_ count: Int, isWiped: Bool) {
        self.count = (count + 4095) & ~4095
        self.isWiped = isWiped
        if self.count < Self.mappedByteCountMin {
            unsafe start = .allocate(byteCount: self.count, alignment: 4096)
        } else {
            guard let map = unsafe coffer_map_huge_pages(self.count) else {
                preconditionFailure("no memory for \(count) bytes")
            }
            unsafe start = map
        }
        unsafe coffer_advise_private(start, self.count)
    }

    deinit {
        if isWiped { unsafe explicit_bzero(start, count) }
        if count < Self.mappedByteCountMin { unsafe start.deallocate() } else { unsafe munmap(start, count) }
    }

    /// Lends bytes for reading.
    @inlinable
    package func withBytes<Result, Failure: Error>(
        _ range: Range<Int>, _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        // SAFETY: in bounds by the precondition; the memory lives as long as self.
        let bytes = unsafe UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count)
        return try unsafe body(bytes.bytes)
    }

    /// Lends bytes for writing.
    @inlinable
    package func withMutableBytes<Result, Failure: Error>(
        _ range: Range<Int>, _ body: (inout MutableRawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        // SAFETY: in bounds by the precondition; the memory lives as long as self.
        let bytes = unsafe UnsafeMutableRawBufferPointer(start: start + range.lowerBound, count: range.count)
        var span = unsafe bytes.mutableBytes
        return try body(&span)
    }

    /// Wipes bytes.
    package func wipe(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        unsafe explicit_bzero(start + range.lowerBound, range.count)
    }

    /// Copies bytes in.
    package func copy(_ bytes: RawSpan, to offset: Int) {
        precondition(offset >= 0 && offset + bytes.byteCount <= count)
        // SAFETY: in bounds by the precondition.
        unsafe bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            unsafe (start + offset).copyMemory(from: base, byteCount: source.count)
        }
    }
}
