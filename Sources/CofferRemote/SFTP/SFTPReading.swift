/// Reads a range of an open file with many requests under way.
struct SFTPReading {
    private struct Piece {
        let number: UInt32
        let range: Range<Int>
    }

    private let files: SFTPFiles
    private let handle: SFTPHandle

    init(_ files: SFTPFiles, _ handle: SFTPHandle) {
        self.files = files
        self.handle = handle
    }

    /// The bytes of a range that the file has, and its size.
    ///
    /// - Parameter expected: The size that the file probably has; what is asked for beside the size follows it.
    func content(of range: Range<Int>, expected: Int?) throws(RemoteError) -> RemoteContent {
        let asked = try files.send(.status(of: handle))
        var bytes: [UInt8] = []
        var rest = range.clamped(to: 0..<(expected ?? range.upperBound))
        var pieces: [Piece] = []
        defer { for piece in pieces { files.session.abandon(piece.number) } }
        do throws(RemoteError) {
            while let next = next(of: &rest, pieces) { pieces.append(try ask(for: next)) }
        } catch {
            files.session.abandon(asked)
            throw error
        }
        // rclone looks for the name again, which may be replaced in this moment.
        guard let status = try files.attributes(asked) else { throw .short(expected: expected ?? 0, got: 0) }
        guard let size = status.byteCount else { throw files.unexpected }
        let wanted = range.clamped(to: 0..<size)
        // The file may have another size than expected.
        rest = min(rest.lowerBound, wanted.upperBound)..<wanted.upperBound
        bytes.reserveCapacity(wanted.count)
        while bytes.count < wanted.count {
            while let next = next(of: &rest, pieces) { pieces.append(try ask(for: next)) }
            guard !pieces.isEmpty, try take(pieces.removeFirst(), into: &bytes) else { break }
        }
        guard bytes.count >= wanted.count else { throw .short(expected: wanted.count, got: bytes.count) }
        bytes.removeLast(bytes.count - wanted.count)
        return RemoteContent(bytes: bytes, objectByteCount: size)
    }

    /// Takes what to ask for next; nil if enough is under way, or if nothing is left.
    private func next(of rest: inout Range<Int>, _ pieces: [Piece]) -> Range<Int>? {
        guard pieces.count < files.session.server.window, !rest.isEmpty else { return nil }
        let piece = rest.prefix(SFTPFiles.pieceByteCount)
        rest = piece.upperBound..<rest.upperBound
        return piece
    }

    private func ask(for range: Range<Int>) throws(RemoteError) -> Piece {
        let number = try files.send(.read(handle, at: range.lowerBound, count: range.count))
        return Piece(number: number, range: range)
    }

    /// Appends a piece, and asks again for what a server has left out; returns false at the end of the file.
    private func take(_ piece: Piece, into bytes: inout [UInt8]) throws(RemoteError) -> Bool {
        var piece = piece
        while true {
            switch try files.session.answer(piece.number, files.call) {
            case .data(let data):
                guard !data.isEmpty, data.count <= piece.range.count else { throw files.unexpected }
                bytes += data
                if data.count == piece.range.count { return true }
                piece = try ask(for: piece.range.dropFirst(data.count))
            case .status(let status):
                if status.code == SFTPStatus.end { return false }
                throw files.error(status) ?? files.unexpected
            default: throw files.unexpected
            }
        }
    }
}
