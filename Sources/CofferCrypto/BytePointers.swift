/// Pointers for C functions that do not take null, not even with a length of zero.
enum BytePointers {
    /// Where empty spans point to; never written.
    // SAFETY: one byte for the life of the process; nobody reads or writes through it, as it is only
    // handed out with a length of zero.
    @safe static nonisolated(unsafe) let nowhere: UnsafeMutablePointer<UInt8> = {
        let byte = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
        unsafe byte.initialize(to: 0)
        return unsafe byte
    }()
}

extension RawSpan {
    /// Lends the bytes as C sees them; the pointer is valid during `body` only.
    func withPointer<Result: ~Copyable>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
        unsafe withUnsafeBytes { raw in
            guard let base = raw.baseAddress else { return unsafe body(BytePointers.nowhere, 0) }
            return unsafe body(base.assumingMemoryBound(to: UInt8.self), raw.count)
        }
    }
}

extension MutableRawSpan {
    /// Lends the bytes as C sees them; the pointer is valid during `body` only.
    mutating func withPointer<Result: ~Copyable>(
        _ body: (UnsafeMutablePointer<UInt8>, Int) -> Result
    ) -> Result {
        unsafe withUnsafeMutableBytes { raw in
            guard let base = raw.baseAddress else { return unsafe body(BytePointers.nowhere, 0) }
            return unsafe body(base.assumingMemoryBound(to: UInt8.self), raw.count)
        }
    }
}
