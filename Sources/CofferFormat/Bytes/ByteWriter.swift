/// A record that is being written field by field; all numbers are little-endian.
package struct ByteWriter {
    /// The bytes written so far.
    @usableFromInline package internal(set) var bytes: [UInt8] = []

    /// Begins an empty record.
    ///
    /// - Parameter capacity: How many bytes will be written; up to this number the memory does not move, so
    ///   that no copies of secrets are left.
    package init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// Writes a number, in as many bytes as its type has.
    @inlinable @inline(__always)
    package mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// Writes bytes as they are, without their length.
    @inlinable @inline(__always)
    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// Writes bytes as they are, without their length.
    package mutating func append(_ more: RawSpan) {
        unsafe more.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    /// Writes text, preceded by its length in 16 bits; cuts it after 65,535 bytes.
    package mutating func text(_ text: String) {
        let utf8 = Array(text.utf8.prefix(Int(UInt16.max)))
        number(UInt16(utf8.count))
        append(utf8)
    }

    /// Writes an identifier: 16 bytes.
    @inlinable @inline(__always)
    package mutating func identifier<Kind>(_ identifier: Identifier<Kind>) {
        number(identifier.low)
        number(identifier.high)
    }

    /// Returns the bytes, and ends the record.
    package consuming func finish() -> [UInt8] {
        bytes
    }
}
