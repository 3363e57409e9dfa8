internal import CCofferSystem
internal import Glibc

/// Memory for bulk data, aligned for O_DIRECT, left out of core dumps and wiped when it goes away.
@safe
// SAFETY: `start` is owned by this object from init to deinit, and no access leaves its bounds. What the compiler
// cannot see is that no two threads use the same bytes at once: a pool (`BufferPool`, `PackWriter`, the slots of
// `ReadAhead`) gives each buffer, or part of one, to one owner at a time, under its lock.
package final class AlignedBuffer: @unchecked Sendable {
    @usableFromInline let start: UnsafeMutableRawPointer
    /// Bytes in it.
    package let count: Int

    /// Allocates `count` bytes, rounded up to pages; zeroed.
    package init(count: Int) {
        self.count = (count + 4095) & ~4095
        let huge = self.count >= 2 << 20
        unsafe start = .allocate(byteCount: self.count, alignment: huge ? 2 << 20 : 4096)
        if huge { unsafe coffer_advise_huge_pages(start, self.count) }
        unsafe coffer_advise_private(start, self.count)
        unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: self.count)
    }

    deinit {
        unsafe explicit_bzero(start, count)
        unsafe start.deallocate()
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
