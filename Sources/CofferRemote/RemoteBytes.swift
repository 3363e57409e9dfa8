package import CofferSystem

/// Bytes to put: in memory, or a part of a file, which is read piece by piece.
package enum RemoteBytes: Sendable {
    /// A whole array.
    case memory([UInt8])
    /// The first bytes of a buffer, which must not change.
    case buffer(AlignedBuffer, Int)
    /// A range of a file, which must contain it and must not change.
    case file(any StorageFile, Range<Int>)

    /// The number of bytes.
    package var byteCount: Int {
        switch self {
        case .memory(let bytes): bytes.count
        case .buffer(_, let count): count
        case .file(_, let range): range.count
        }
    }

    /// Passes all bytes to `body`, in order and in pieces; may block on the disk.
    ///
    /// - Throws: `.unreadable` if the file fails or is too short; errors of `body`.
    package func forEachPiece(
        of pieceByteCount: Int = 256 << 10, _ body: (RawSpan) throws(RemoteError) -> Void
    ) throws(RemoteError) {
        switch self {
        case .memory(let bytes):
            try bytes.withRawSpan { span throws(RemoteError) in try body(span) }
        case .buffer(let buffer, let count):
            try buffer.withBytes(0..<count) { span throws(RemoteError) in try body(span) }
        case .file(let file, let range):
            var piece = [UInt8](repeating: 0, count: min(pieceByteCount, range.count))
            var offset = range.lowerBound
            while offset < range.upperBound {
                piece.removeLast(max(0, piece.count - (range.upperBound - offset)))
                try Self.fill(&piece, from: file, at: offset)
                try piece.withRawSpan { span throws(RemoteError) in try body(span) }
                offset += piece.count
            }
        }
    }

    private static func fill(
        _ piece: inout [UInt8], from file: any StorageFile, at offset: Int
    ) throws(RemoteError) {
        do throws(SystemError) {
            let got = try piece.withMutableRawSpan { span throws(SystemError) in
                try file.read(into: &span, at: offset)
            }
            // EIO: the file is shorter than the caller said.
            guard got == piece.count else { throw SystemError("read", code: 5, on: "the bytes to send") }
        } catch {
            throw .unreadable(error)
        }
    }

    /// Whether `other`, the part of an object that begins at `offset`, has the same bytes.
    func matches(_ other: [UInt8], at offset: Int) throws(RemoteError) -> Bool {
        guard offset + other.count <= byteCount else { return false }
        switch self {
        case .memory(let bytes):
            return bytes[offset..<offset + other.count].elementsEqual(other)
        case .buffer(let buffer, _):
            return buffer.withBytes(offset..<offset + other.count) { $0.array } == other
        case .file(let file, let range):
            var bytes = [UInt8](repeating: 0, count: other.count)
            try Self.fill(&bytes, from: file, at: range.lowerBound + offset)
            return bytes == other
        }
    }
}
