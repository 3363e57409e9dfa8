package import CofferSystem

/// A read that may be answered later, by another thread; exactly once.
package protocol ReadRequest: AnyObject, Sendable {
    /// Answers with bytes, which are lent for the call.
    func answer(_ parts: [ReadPart])
    /// Answers with an error.
    func fail(_ error: FileSystemError)
    /// Whether whoever asked does not want the answer any more; it is to be given all the same, and soon.
    var isInterrupted: Bool { get }
}

extension ReadRequest {
    /// Nobody tells.
    package var isInterrupted: Bool { false }
}

/// Bytes of an answer.
package struct ReadPart: Sendable {
    /// Where they lie.
    package let buffer: AlignedBuffer
    /// Which bytes of the buffer.
    package let range: Range<Int>
}
