extension [UInt8] {
    /// Lends the array's bytes for reading.
    @inlinable @inline(__always)
    package func withRawSpan<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: bytes have no padding.
        try body(unsafe span.bytes)
    }

    /// Lends the array's bytes for writing.
    @inlinable @inline(__always)
    package mutating func withMutableRawSpan<Result: ~Copyable, Failure: Error>(
        _ body: (inout MutableRawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var span = mutableSpan
        // SAFETY: every bit pattern is a UInt8.
        var bytes = unsafe span.mutableBytes
        return try body(&bytes)
    }
}

extension RawSpan {
    /// The byte at `offset`.
    @inlinable @inline(__always)
    package func byte(at offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < byteCount)
        // SAFETY: in bounds by the precondition.
        return unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// A little-endian number at any offset.
    @inlinable @inline(__always)
    package func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Number.Type
    ) -> Number {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= byteCount)
        // SAFETY: in bounds by the precondition; every bit pattern is an integer.
        return unsafe Number(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    /// The bytes as an array.
    @inlinable
    package var array: [UInt8] {
        // SAFETY: the pointer does not leave the closure.
        unsafe withUnsafeBytes { unsafe [UInt8]($0) }
    }
}

extension MutableRawSpan {
    /// Stores a number, little-endian, at any offset.
    @inlinable @inline(__always)
    package mutating func storeLittleEndian<Number: FixedWidthInteger & BitwiseCopyable>(
        _ number: Number, at offset: Int
    ) {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= byteCount)
        storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
    }

    /// Copies all of `source` over the bytes from `offset` on.
    @inlinable
    package mutating func copyBytes(from source: RawSpan, at offset: Int = 0) {
        precondition(offset >= 0 && offset + source.byteCount <= byteCount)
        // SAFETY: in bounds by the precondition; a mutable span has no other reader.
        unsafe withUnsafeMutableBytes { target in
            unsafe source.withUnsafeBytes { source in
                guard let from = source.baseAddress else { return }
                unsafe target.baseAddress?.advanced(by: offset).copyMemory(
                    from: from, byteCount: source.count)
            }
        }
    }

    /// Overwrites all bytes with zeros.
    ///
    /// Not for wiping secrets: the optimiser may drop it.
    @inlinable
    package mutating func zero() {
        // SAFETY: the pointer covers exactly the span.
        unsafe withUnsafeMutableBytes { target in
            _ = unsafe target.initializeMemory(as: UInt8.self, repeating: 0)
        }
    }
}
