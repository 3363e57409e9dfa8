internal import CSodium
internal import CofferSystem

/// Secret bytes in locked memory between guard pages; zeroed when they are freed, and never copied by
/// accident.
///
/// Short secrets, including all keys, share such memory with others (`SecretSlab`).
@safe
// SAFETY: this value owns the memory at `start`: init allocates it and deinit frees it, or it is a place in
// `slab` that no other value has or ever had, and the reference that init takes and deinit releases keeps the
// slab alive. Only init and `mutating` functions write it, and they have exclusive access, since the value
// cannot be copied; all other functions read. So the value may be shared between threads, and passed on.
package struct SecretBytes: ~Copyable, @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    // Only init and deinit count this reference: the optimizer has miscompiled references in types that
    // cannot be copied.
    private let slab: Unmanaged<SecretSlab>?
    /// Their number.
    package let count: Int

    /// Makes `count` secret bytes, and lets `fill` write them.
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
        // SAFETY: `count` bytes have just been allocated, and nothing else uses them.
        var span = unsafe UnsafeMutableRawBufferPointer(start: start, count: count).mutableBytes
        fill(&span)
    }

    /// Makes random bytes.
    package static func random(count: Int) -> SecretBytes {
        SecretBytes(count: count) { (span: inout MutableRawSpan) throws(Never) in
            unsafe span.withPointer { unsafe randombytes_buf($0, $1) }
        }
    }

    /// Copies bytes, and wipes the original.
    package init(moving bytes: inout [UInt8]) {
        unsafe self.init(copying: bytes.span.bytes)
        SecretBytes.wipe(&bytes)
    }

    /// Copies bytes.
    package init(copying bytes: RawSpan) {
        self.init(count: bytes.byteCount) { (span: inout MutableRawSpan) throws(Never) in
            span.copyBytes(from: bytes)
        }
    }

    deinit {
        if let slab = unsafe slab {
            unsafe sodium_memzero(start, count)
            // Last: the memory is freed with the last secret in it.
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
        // SAFETY: a mutating function has exclusive access to self.
        var span = unsafe UnsafeMutableRawBufferPointer(start: start, count: count).mutableBytes
        body(&span)
    }

    /// Makes a copy for another owner.
    package func duplicate() -> SecretBytes {
        withBytes { SecretBytes(copying: $0) }
    }

    /// Compares in constant time.
    package func isEqual(to other: borrowing SecretBytes) -> Bool {
        guard count == other.count else { return false }
        return unsafe sodium_memcmp(start, other.start, count) == 0
    }

    /// Overwrites the bytes of an array with zeros, in place unless the array shares its storage.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe sodium_memzero(base, buffer.count)
        }
    }
}
