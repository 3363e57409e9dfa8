/// A record that is being written, field by field; all numbers are little-endian.
package struct ByteWriter {
    /// What was written so far.
    @usableFromInline package internal(set) var bytes: [UInt8] = []

    /// - Parameter capacity: Bytes that will be written; memory does not move below that, so that no
    ///   copies of secrets are left behind.
    package init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// A number, in as many bytes as its type has.
    @inlinable @inline(__always)
    package mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
        unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
    }

    /// Bytes as they are, without a length in front.
    @inlinable @inline(__always)
    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// Bytes as they are, without a length in front.
    package mutating func append(_ more: RawSpan) {
        unsafe more.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    /// Text with a 16-bit length in front.
    package mutating func text(_ text: String) {
        let utf8 = Array(text.utf8.prefix(Int(UInt16.max)))
        number(UInt16(utf8.count))
        append(utf8)
    }

    /// An identifier: 16 bytes.
    @inlinable @inline(__always)
    package mutating func identifier<Kind>(_ identifier: Identifier<Kind>) {
        number(identifier.low)
        number(identifier.high)
    }

    /// Gives the bytes away.
    package consuming func finish() -> [UInt8] {
        bytes
    }
}
