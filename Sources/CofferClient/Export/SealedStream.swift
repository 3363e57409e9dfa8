internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import Glibc

/// Seals bytes into the pieces of an export, and writes them.
struct SealingStream: ~Copyable {
    private var cipher: ExportCipher
    private let descriptor: Int32
    private let isAwaited: () -> Bool
    private let plain = AlignedBuffer(count: ExportPiece.byteCount)
    private let sealed = AlignedBuffer(
        forSealed: ExportPiece.startByteCount + ExportPiece.byteCount + Seal.tagByteCount)
    /// The number of bytes in `plain`.
    private var count = 0
    /// The number of bytes written.
    private(set) var written: Int64 = 0

    /// Writes the header.
    init(
        to descriptor: Int32, header: [UInt8], _ key: borrowing SymmetricKey<ExportRole>,
        isAwaited: @escaping () -> Bool
    ) throws(ClientError) {
        cipher = ExportCipher(key, header: header)
        self.descriptor = descriptor
        self.isAwaited = isAwaited
        try unsafe write(header.span.bytes)
    }

    mutating func append(_ bytes: RawSpan) throws(ClientError) {
        var rest = bytes
        while rest.byteCount > 0 {
            // Whether a piece is the last one shows only when more comes.
            if count == ExportPiece.byteCount { try writePiece(isLast: false) }
            let part = min(rest.byteCount, ExportPiece.byteCount - count)
            plain.copy(rest.extracting(0..<part), to: count)
            count += part
            rest = rest.extracting(part..<rest.byteCount)
        }
    }

    /// Seals the rest; call it once, and nothing after it.
    mutating func finish() throws(ClientError) {
        try writePiece(isLast: true)
    }

    private mutating func writePiece(isLast: Bool) throws(ClientError) {
        let start = ExportPiece(count: count, isLast: isLast).bytes
        unsafe sealed.copy(start.span.bytes, to: 0)
        let end = start.count + count + Seal.tagByteCount
        plain.withBytes(0..<count) { piece in
            sealed.withMutableBytes(start.count..<end) { cipher.seal(piece, start: start, into: &$0) }
        }
        count = 0
        try sealed.withBytes(0..<end) { bytes throws(ClientError) in try write(bytes) }
    }

    private mutating func write(_ bytes: RawSpan) throws(ClientError) {
        do throws(SystemError) {
            try AwaitedStream.write(bytes, to: descriptor, subject: "the export", isAwaited: isAwaited)
        } catch {
            throw error.code == ECANCELED ? .export(.interrupted) : .system(error)
        }
        written += Int64(bytes.byteCount)
    }
}

/// Reads the pieces of an export, and opens them.
struct OpeningStream: ~Copyable {
    private var cipher: ExportCipher
    private let descriptor: Int32
    private let isAwaited: () -> Bool
    private let plain = AlignedBuffer(count: ExportPiece.byteCount)
    private let sealed = AlignedBuffer(forSealed: ExportPiece.byteCount + Seal.tagByteCount)
    /// The bytes of the present piece that are still to be taken.
    private var rest = 0..<0
    private var isLast = false
    /// The number of bytes read, with those of the header.
    private(set) var position: Int64

    /// - Parameter descriptor: It stands behind the header.
    init(
        from descriptor: Int32, header: [UInt8], _ key: borrowing SymmetricKey<ExportRole>,
        isAwaited: @escaping () -> Bool
    ) {
        cipher = ExportCipher(key, header: header)
        self.descriptor = descriptor
        self.isAwaited = isAwaited
        position = Int64(header.count)
    }

    /// Reads `count` bytes to the beginning of a buffer; fewer at the end.
    mutating func read(_ count: Int, into buffer: AlignedBuffer) throws(ClientError) -> Int {
        var done = 0
        while done < count {
            if rest.isEmpty {
                if isLast { break }
                try readPiece()
                continue
            }
            let part = rest.prefix(count - done)
            plain.withBytes(part) { buffer.copy($0, to: done) }
            rest = part.upperBound..<rest.upperBound
            done += part.count
        }
        return done
    }

    /// Checks that nothing follows: neither sealed bytes nor others.
    mutating func expectEnd() throws(ClientError) -> Bool {
        while rest.isEmpty, !isLast { try readPiece() }
        guard rest.isEmpty else { return false }
        if try read(1, at: 0) > 0 { throw .export(.trailing(offset: position - 1)) }
        return true
    }

    private mutating func readPiece() throws(ClientError) {
        let begin = position
        guard try read(ExportPiece.startByteCount, at: 0) == ExportPiece.startByteCount else {
            throw .export(.cut(bytes: position))
        }
        let start = sealed.withBytes(0..<ExportPiece.startByteCount) { $0.array }
        let piece: ExportPiece
        do throws(FormatError) { piece = try unsafe ExportPiece(start.span.bytes) } catch {
            throw .export(.damaged(offset: begin))
        }
        let count = piece.count + Seal.tagByteCount
        guard try read(count, at: 0) == count else { throw .export(.cut(bytes: position)) }
        do throws(CryptoError) {
            try sealed.withBytes(0..<count) { bytes throws(CryptoError) in
                try plain.withMutableBytes(0..<piece.count) { plain throws(CryptoError) in
                    try cipher.open(bytes, start: start, into: &plain)
                }
            }
        } catch {
            throw .export(.damaged(offset: begin))
        }
        rest = 0..<piece.count
        isLast = piece.isLast
    }

    /// Reads up to `count` bytes into `sealed`.
    private mutating func read(_ count: Int, at place: Int) throws(ClientError) -> Int {
        do throws(SystemError) {
            let got = try sealed.withMutableBytes(place..<place + count) { bytes throws(SystemError) in
                try AwaitedStream.read(descriptor, into: &bytes, subject: "the export", isAwaited: isAwaited)
            }
            position += Int64(got)
            return got
        } catch {
            throw error.code == ECANCELED ? .export(.interrupted) : .system(error)
        }
    }
}
