// Steps on large contents. Tests are not optimized, and call a function for each byte; this target is.

/// Whether two slices hold the same bytes.
package func haveSameBytes(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
    first == second
}

/// Whether two contents are the same.
package func haveSameBytes(_ first: [UInt8], _ second: [UInt8]) -> Bool {
    first == second
}

extension [UInt8] {
    /// Overwrites the part of a range that exists with zeros.
    package mutating func clear(_ range: Range<Int>) {
        for index in range.clamped(to: indices) { self[index] = 0 }
    }

    /// Appends zeros until it has `count` bytes.
    package mutating func grow(to count: Int) {
        self += [UInt8](repeating: 0, count: Swift.max(0, count - self.count))
    }

    /// Overwrites what begins at an offset, and grows if it ends too early.
    package mutating func overwrite(at offset: Int, with bytes: [UInt8]) {
        grow(to: offset + bytes.count)
        for (index, byte) in bytes.enumerated() { self[offset + index] = byte }
    }
}
