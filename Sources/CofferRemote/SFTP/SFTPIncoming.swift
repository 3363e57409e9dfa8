/// Packets, put together from the bytes of a stream.
///
/// Holds no more than one packet that may come, and what was read at once.
struct SFTPIncoming {
    struct Packet {
        let type: UInt8
        /// Of the request that it answers; 0 if it has none.
        let number: UInt32
        /// What follows the type: the number, if it has one, and the rest.
        let bytes: ArraySlice<UInt8>
    }

    private var buffer: [UInt8] = []
    private var start = 0

    /// Adds bytes of the stream.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        if start > 0 {
            buffer.removeSubrange(..<start)
            start = 0
        }
        buffer += bytes
    }

    /// Takes a packet out, once it is whole.
    ///
    /// - Parameter limit: The longest packet that a number may have; nil if none may have it.
    /// - Throws: `.failed` as soon as a packet begins that may not come.
    mutating func next(limit: (UInt32) -> Int?) throws(RemoteError) -> Packet? {
        var reader = SFTPReader(buffer[start...])
        guard let length = try? reader.number() else { return nil }
        guard length >= 5, length <= SFTPRequest.longestAnswer else {
            throw .failed(Self.complaint(buffer[start...]))
        }
        guard buffer.count - start >= 9 else { return nil }
        let body = buffer[(start + 4)...]
        let number = body.dropFirst().prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        guard let limit = limit(number), length <= limit else {
            throw .failed("the server sends what was not asked for")
        }
        guard body.count >= length else { return nil }
        start += 4 + Int(length)
        return Packet(
            type: body[body.startIndex], number: number, bytes: body.dropFirst().prefix(Int(length) - 1))
    }

    /// What a wrong length means; the commonest is a login script that prints something.
    private static func complaint(_ bytes: ArraySlice<UInt8>) -> String {
        let isText = bytes.prefix(4).allSatisfy { (0x20..<0x7F).contains($0) || $0 == 0x0A || $0 == 0x0D }
        if !isText { return "the server sends what is not SFTP" }
        return "the server prints text where SFTP should be, perhaps from a login script: "
            + PrintableText.of(bytes.prefix(80))
    }
}
