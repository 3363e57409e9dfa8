/// Bytes in a buffer that nobody changes any more, for whoever has them to share.
package struct BufferPart: Sendable {
    /// What they are in.
    package let buffer: AlignedBuffer
    /// Where in it.
    package let range: Range<Int>

    /// Bytes that are in a buffer.
    package init(_ buffer: AlignedBuffer, _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= buffer.count)
        self.buffer = buffer
        self.range = range
    }

    /// A copy of sealed bytes.
    package init(copying sealed: [UInt8]) {
        buffer = AlignedBuffer(forSealed: sealed.count)
        buffer.copy(unsafe sealed.span.bytes, to: 0)
        range = 0..<sealed.count
    }

    /// How many.
    package var count: Int { range.count }

    /// A copy.
    package var bytes: [UInt8] { withBytes { $0.array } }

    /// Some of them, counted from the first.
    package subscript(part: Range<Int>) -> BufferPart {
        BufferPart(buffer, range.lowerBound + part.lowerBound..<range.lowerBound + part.upperBound)
    }

    /// Lends them.
    package func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result {
        buffer.withBytes(range, body)
    }
}
