/// An answer while it arrives: headers, and the wanted part of the body.
struct HTTPAnswer {
    /// Why a body is not read to its end.
    enum End: Equatable {
        /// All that was wanted is there.
        case enough
        /// The answer is longer than allowed.
        case tooLong
    }

    private static let headerByteCountMax = 64 << 10
    /// What is kept of an answer that means an error, and what of it is read at most.
    private static let errorByteCountMax = 64 << 10, errorReadMax = 1 << 20
    /// What is reserved at most before it arrives.
    private static let reserveMax = 16 << 20

    private let range: Range<Int>?
    private let byteCountMax: Int
    private(set) var headers: [HTTPHeader] = []
    private var headerByteCount = 0
    private(set) var body: [UInt8] = []
    /// The bytes of the body that have arrived.
    private var readCount = 0
    private(set) var end: End?

    init(for request: HTTPRequest) {
        range = request.range
        byteCountMax = request.answerByteCountMax
    }

    /// Takes a line of the head; false to end the transfer.
    mutating func take(line: String) -> Bool {
        // Interim answers, and those that ask for a password, come before the one that counts.
        if line.hasPrefix("HTTP/") { (headers, body, readCount) = ([], [], 0) }
        headerByteCount += line.utf8.count
        guard headerByteCount <= Self.headerByteCountMax else {
            end = .tooLong
            return false
        }
        guard let colon = line.firstIndex(of: ":") else { return true }
        let isSpace = { (character: Character) in character.isWhitespace }
        let value = line[line.index(after: colon)...].drop(while: isSpace)
        let trimmed = String(value.reversed().drop(while: isSpace).reversed())
        headers.append(HTTPHeader(line[..<colon].lowercased(), trimmed))
        return true
    }

    /// Takes a piece of the body; false to end the transfer.
    mutating func take(_ piece: UnsafeRawBufferPointer, status: Int) -> Bool {
        defer { readCount += piece.count }
        guard (200..<300).contains(status) else {
            unsafe body.append(contentsOf: piece.prefix(Self.errorByteCountMax - body.count))
            if readCount + piece.count > Self.errorReadMax { end = .enough }
            return end == nil
        }
        guard let range else {
            guard body.count + piece.count <= byteCountMax else {
                end = .tooLong
                return false
            }
            unsafe body.append(contentsOf: piece)
            return true
        }
        if body.isEmpty { body.reserveCapacity(min(range.count, Self.reserveMax)) }
        // An answer with the whole resource begins before the range.
        let skip = status == 206 ? 0 : min(piece.count, max(0, range.lowerBound - readCount))
        unsafe body.append(contentsOf: piece.dropFirst(skip).prefix(range.count - body.count))
        if body.count == range.count, readCount + piece.count > range.count, status != 206 { end = .enough }
        if status == 206, readCount + piece.count > range.count { end = .tooLong }
        return end == nil
    }
}
