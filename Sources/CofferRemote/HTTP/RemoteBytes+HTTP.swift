internal import CofferCrypto
internal import CofferHTTP
package import CofferSystem

extension RemoteBytes: HTTPBody {
    /// Reads bytes; a file that is shorter than the range gives fewer, and then none.
    package func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        switch self {
        case .memory(let bytes): return try bytes.read(into: &buffer, at: offset)
        case .buffer(let whole, let count):
            let end = min(count, offset + buffer.byteCount)
            whole.withBytes(offset..<max(offset, end)) { buffer.copyBytes(from: $0) }
            return max(0, end - offset)
        case .file(let file, let range):
            // The client asks for no more than there is.
            return try file.read(into: &buffer, at: range.lowerBound + offset)
        }
    }

    /// The SHA-256 hash; may block on the disk.
    ///
    /// - Throws: `.unreadable`.
    func hash() throws(RemoteError) -> [UInt8] {
        var hash = SHA256()
        try forEachPiece { piece throws(RemoteError) in hash.add(piece) }
        return hash.finish()
    }
}
