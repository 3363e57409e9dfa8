package import CofferFormat
package import CofferSystem

/// A read that another thread may answer later; it is answered exactly once.
package protocol ReadRequest: AnyObject, Sendable {
    /// Answers with bytes, which are valid during the call only.
    func answer(_ parts: [ReadPart])
    /// Answers with an error.
    func fail(_ error: FileSystemError)
    /// Whether the requester no longer wants the answer; an answer is still due, and soon.
    var isInterrupted: Bool { get }
}

extension ReadRequest {
    /// By default, requests are never interrupted.
    package var isInterrupted: Bool { false }
}

/// A part of an answer.
package struct ReadPart: Sendable {
    /// The buffer that contains the bytes.
    package let buffer: AlignedBuffer
    /// The range of the bytes in the buffer.
    package let range: Range<Int>

    package init(buffer: AlignedBuffer, range: Range<Int>) {
        self.buffer = buffer
        self.range = range
    }
}
