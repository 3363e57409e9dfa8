// Pointers for C functions that do not take null, not even with a length of zero: empty spans lend a byte of
// the stack.

extension RawSpan {
    /// Lends the bytes as C sees them; the pointer is valid during `body` only.
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
    /// Lends the bytes as C sees them; the pointer is valid during `body` only.
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
