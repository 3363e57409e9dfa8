internal import CofferSystem

/// A place in a record that is being read, field by field; all numbers are little-endian.
package struct ByteCursor {
    /// Bytes read so far.
    @usableFromInline package internal(set) var offset = 0

    /// The beginning of a record.
    @inlinable package init() {}

    /// A number.
    ///
    /// - Throws: `.truncated`.
    @inlinable
    package mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type, from bytes: RawSpan
    ) throws(FormatError) -> Number {
        let range = try range(MemoryLayout<Number>.size, of: bytes)
        return bytes.littleEndian(at: range.lowerBound, as: Number.self)
    }

    /// The place of `count` bytes.
    ///
    /// - Throws: `.truncated`.
    @inlinable
    package mutating func range(_ count: Int, of bytes: RawSpan) throws(FormatError) -> Range<Int> {
        guard count >= 0, count <= bytes.byteCount - offset else { throw .truncated }
        defer { offset += count }
        return offset..<offset + count
    }

    /// `count` bytes.
    ///
    /// - Throws: `.truncated`.
    package mutating func bytes(_ count: Int, from bytes: RawSpan) throws(FormatError) -> [UInt8] {
        bytes.extracting(try range(count, of: bytes)).array
    }

    /// Text with a 16-bit length in front; must be UTF-8.
    package mutating func text(_ field: String, from bytes: RawSpan) throws(FormatError) -> String {
        let count = Int(try number(UInt16.self, from: bytes))
        let raw = try self.bytes(count, from: bytes)
        guard let text = String(validating: raw, as: UTF8.self) else { throw .invalid(field: field) }
        return text
    }

    /// An identifier.
    @inlinable
    package mutating func identifier<Kind>(
        _ type: Identifier<Kind>.Type, from bytes: RawSpan
    ) throws(FormatError) -> Identifier<Kind> {
        let low = try number(UInt64.self, from: bytes)
        return Identifier(low: low, high: try number(UInt64.self, from: bytes))
    }

    /// Checks that nothing is left.
    ///
    /// - Throws: `.trailingBytes`.
    package func expectEnd(of bytes: RawSpan) throws(FormatError) {
        guard offset == bytes.byteCount else { throw .trailingBytes }
    }
}
