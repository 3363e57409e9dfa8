// C functions that do not take a null pointer, even with a length of zero, get one from here: an empty span
// lends a byte of the stack.

extension RawSpan {
    /// Lends the bytes to a C function; the pointer is valid only during `body`.
    func withPointer<Result: ~Copyable>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
        unsafe withUnsafeBytes { raw in
            guard let base = raw.baseAddress else {
                var nothing: UInt8 = 0
                return unsafe withUnsafePointer(to: &nothing) { unsafe body($0, 0) }
            }
            return unsafe body(base.assumingMemoryBound(to: UInt8.self), raw.count)
        }
    }
}

extension MutableRawSpan {
    /// Lends the bytes to a C function; the pointer is valid only during `body`.
    mutating func withPointer<Result: ~Copyable>(
        _ body: (UnsafeMutablePointer<UInt8>, Int) -> Result
    ) -> Result {
        unsafe withUnsafeMutableBytes { raw in
            guard let base = raw.baseAddress else {
                var nothing: UInt8 = 0
                return unsafe withUnsafeMutablePointer(to: &nothing) { unsafe body($0, 0) }
            }
            return unsafe body(base.assumingMemoryBound(to: UInt8.self), raw.count)
        }
    }
}
