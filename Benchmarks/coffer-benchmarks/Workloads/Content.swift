internal import Glibc

/// Random bytes in which every page is numbered, so that a wrong answer is detected instead of timed.
struct Content {
    static let pageSize = 4_096
    static let chunkSize = 1 << 20
    private var chunk: [UInt8]

    init(seed: UInt64) {
        var numbers = RandomNumbers(seed: seed)
        chunk = []
        chunk.reserveCapacity(Self.chunkSize)
        for _ in 0..<Self.chunkSize / 8 {
            withUnsafeBytes(of: numbers.next()) { chunk.append(contentsOf: $0) }
        }
    }

    /// Passes `body` the chunk for a page, each page of it stamped with its number and a generation.
    mutating func withChunk<Result>(
        page: Int, generation: Int = 0, pages: Int = chunkSize / pageSize,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try chunk.withUnsafeMutableBytes { bytes in
            for index in 0..<pages {
                let stamp = UInt64(page + index) << 16 | UInt64(generation & 0xFFFF)
                bytes.storeBytes(of: stamp, toByteOffset: index * Self.pageSize, as: UInt64.self)
            }
            return try body(UnsafeRawBufferPointer(rebasing: bytes[..<(pages * Self.pageSize)]))
        }
    }

    /// Whether a page has the content that was written.
    ///
    /// - Parameter place: The position of the page in the chunk with which it was written.
    mutating func matches(_ bytes: UnsafeRawBufferPointer, page: Int, generation: Int = 0, place: Int = 0)
        -> Bool
    {
        let stamp = UInt64(page) << 16 | UInt64(generation & 0xFFFF)
        guard bytes.count == Self.pageSize, bytes.loadUnaligned(as: UInt64.self) == stamp else {
            return false
        }
        return chunk.withUnsafeBytes { own in
            guard let one = bytes.baseAddress, let other = own.baseAddress else { return false }
            return memcmp(one + 8, other + place * Self.pageSize + 8, Self.pageSize - 8) == 0
        }
    }
}
