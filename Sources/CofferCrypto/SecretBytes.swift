internal import CSodium
internal import CofferSystem

/// Secret bytes in locked memory between guard pages; zeroed when they go away; never copied by accident.
///
/// Short ones, as all keys are, share it with others (`SecretSlab`).
@safe
// SAFETY: `start` is memory of this value's own: allocated by init and freed by deinit, or a place in `slab` that nobody
// else has or ever had, in memory that the reference which init takes and deinit gives back keeps alive. It is written by
// init and by `mutating` functions only, which, as the value cannot be copied, have it alone; all others read. Hence it
// may be shared and handed on.
package struct SecretBytes: ~Copyable, @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    // Counted by init and deinit alone: the optimizer has miscompiled references in types that cannot be copied.
    private let slab: Unmanaged<SecretSlab>?
    /// Bytes in it.
    package let count: Int

    /// Makes `count` secret bytes and lets `fill` write them.
    package init(count: Int, _ fill: (inout MutableRawSpan) -> Void) {
        Sodium.ensureInitialised()
        if count <= SecretSlab.placeByteCount {
            let place = SecretSlab.place()
            unsafe slab = Unmanaged.passRetained(place.slab)
            unsafe self.start = unsafe place.slab.start(of: place.offset)
        } else {
            guard let start = unsafe sodium_malloc(count) else {
                preconditionFailure("no locked memory for \(count) secret bytes")
            }
            unsafe slab = nil
            unsafe self.start = unsafe start
        }
        self.count = count
        // SAFETY: `count` bytes were allocated just now and nobody else has them.
        var span = unsafe UnsafeMutableRawBufferPointer(start: start, count: count).mutableBytes
        fill(&span)
    }

    /// Fresh random bytes.
    package static func random(count: Int) -> SecretBytes {
        SecretBytes(count: count) { (span: inout MutableRawSpan) throws(Never) in
            unsafe span.withPointer { unsafe randombytes_buf($0, $1) }
        }
    }

    /// Takes a copy of bytes and wipes the original.
    package init(moving bytes: inout [UInt8]) {
        unsafe self.init(copying: bytes.span.bytes)
        SecretBytes.wipe(&bytes)
    }

    /// Takes a copy of bytes.
    package init(copying bytes: RawSpan) {
        self.init(count: bytes.byteCount) { (span: inout MutableRawSpan) throws(Never) in
            span.copyBytes(from: bytes)
        }
    }

    deinit {
        if let slab = unsafe slab {
            unsafe sodium_memzero(start, count)
            // Only now: with the last one the memory goes.
            unsafe slab.release()
        } else {
            unsafe sodium_free(start)
        }
    }

    /// Lends the bytes for reading.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
        return try unsafe body(bytes.bytes)
    }

    /// Lends the bytes for writing.
    mutating func overwrite(_ body: (inout MutableRawSpan) -> Void) {
        // SAFETY: whoever may mutate self has it alone.
        var span = unsafe UnsafeMutableRawBufferPointer(start: start, count: count).mutableBytes
        body(&span)
    }

    /// A second copy, for another owner.
    package func duplicate() -> SecretBytes {
        withBytes { SecretBytes(copying: $0) }
    }

    /// Compares in constant time.
    package func isEqual(to other: borrowing SecretBytes) -> Bool {
        guard count == other.count else { return false }
        return unsafe sodium_memcmp(start, other.start, count) == 0
    }

    /// Overwrites the bytes of an array with zeros, in place if nobody shares it.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe sodium_memzero(base, buffer.count)
        }
    }
}
