package import CofferSystem

/// A read that may be answered later, by another thread; exactly once.
package protocol ReadRequest: AnyObject, Sendable {
    /// Answers with bytes, which are lent for the call.
    func answer(_ parts: [ReadPart])
    /// Answers with an error.
    func fail(_ error: FileSystemError)
}

/// Bytes of an answer.
package struct ReadPart: Sendable {
    /// Where they lie.
    package let buffer: AlignedBuffer
    /// Which bytes of the buffer.
    package let range: Range<Int>
}
