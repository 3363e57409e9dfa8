package import CofferSystem

/// What a request sends: bytes that can be read more than once, since a server may ask for them again.
package protocol HTTPBody: Sendable {
    /// The number of bytes.
    var byteCount: Int { get }

    /// Reads bytes from `offset` on, as many as the buffer has room for, or as there are.
    ///
    /// The client's thread calls this, and all its transfers wait meanwhile.
    ///
    /// - Returns: The number of bytes; not 0 before the end.
    func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int
}

extension [UInt8]: HTTPBody {
    /// The number of bytes.
    package var byteCount: Int { count }

    /// Copies bytes of the array.
    package func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        let part = self[Swift.min(offset, count)...].prefix(buffer.byteCount)
        buffer.copyBytes(from: unsafe part.span.bytes)
        return part.count
    }
}
