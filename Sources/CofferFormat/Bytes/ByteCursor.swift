internal import CofferSystem

/// A position in a record that is being read field by field; all numbers are little-endian.
package struct ByteCursor {
    /// How many bytes have been read so far.
    @usableFromInline package internal(set) var offset = 0

    /// Starts at the beginning of a record.
    @inlinable package init() {}

    /// Reads a number.
    ///
    /// - Throws: `.truncated`.
    @inlinable
    package mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type, from bytes: RawSpan
    ) throws(FormatError) -> Number {
        let range = try range(MemoryLayout<Number>.size, of: bytes)
        return bytes.littleEndian(at: range.lowerBound, as: Number.self)
    }

    /// Skips `count` bytes, and returns where they are.
    ///
    /// - Throws: `.truncated`.
    @inlinable
    package mutating func range(_ count: Int, of bytes: RawSpan) throws(FormatError) -> Range<Int> {
        guard count >= 0, count <= bytes.byteCount - offset else { throw .truncated }
        defer { offset += count }
        return offset..<offset + count
    }

    /// Reads `count` bytes.
    ///
    /// - Throws: `.truncated`.
    package mutating func bytes(_ count: Int, from bytes: RawSpan) throws(FormatError) -> [UInt8] {
        bytes.extracting(try range(count, of: bytes)).array
    }

    /// Reads text in UTF-8, preceded by its length in 16 bits.
    ///
    /// - Throws: `.truncated`; `.invalid` with `field` if it is not UTF-8.
    package mutating func text(_ field: String, from bytes: RawSpan) throws(FormatError) -> String {
        let count = Int(try number(UInt16.self, from: bytes))
        let raw = try self.bytes(count, from: bytes)
        guard let text = String(validating: raw, as: UTF8.self) else { throw .invalid(field: field) }
        return text
    }

    /// Reads an identifier.
    @inlinable
    package mutating func identifier<Kind>(
        _ type: Identifier<Kind>.Type, from bytes: RawSpan
    ) throws(FormatError) -> Identifier<Kind> {
        let low = try number(UInt64.self, from: bytes)
        return Identifier(low: low, high: try number(UInt64.self, from: bytes))
    }

    /// Checks that no bytes are left.
    ///
    /// - Throws: `.trailingBytes`.
    package func expectEnd(of bytes: RawSpan) throws(FormatError) {
        guard offset == bytes.byteCount else { throw .trailingBytes }
    }
}
