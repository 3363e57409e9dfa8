/// Bytes of a buffer that no longer change, so that several consumers can share them.
package struct BufferPart: Sendable {
    /// The buffer that contains them.
    package let buffer: AlignedBuffer
    /// Where they are in the buffer.
    package let range: Range<Int>

    /// Refers to bytes of a buffer; `range` must lie within it.
    package init(_ buffer: AlignedBuffer, _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= buffer.count)
        self.buffer = buffer
        self.range = range
    }

    /// Copies sealed bytes into a buffer of their own.
    package init(copying sealed: [UInt8]) {
        buffer = AlignedBuffer(forSealed: sealed.count)
        buffer.copy(unsafe sealed.span.bytes, to: 0)
        range = 0..<sealed.count
    }

    /// How many bytes there are.
    package var count: Int { range.count }

    /// A copy of the bytes.
    package var bytes: [UInt8] { withBytes { $0.array } }

    /// Some of the bytes; `part` counts from the first.
    package subscript(part: Range<Int>) -> BufferPart {
        BufferPart(buffer, range.lowerBound + part.lowerBound..<range.lowerBound + part.upperBound)
    }

    /// Lends the bytes for reading.
    package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result {
        buffer.withBytes(range, body)
    }
}
