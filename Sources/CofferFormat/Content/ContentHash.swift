internal import CofferSystem

/// A 32-byte hash of sealed bytes on a remote, as the root of an extent's tree, or with the purpose `content page`.
package struct ContentHash: Hashable, Sendable {
    /// The size of every hash, in bytes.
    package static let byteCount = 32

    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Takes the 32 bytes of a hash; nil if there are not 32.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(unsafe bytes.span.bytes, at: 0)
    }

    /// Reads 32 bytes at `offset`.
    package init(_ bytes: RawSpan, at offset: Int) {
        words = (
            bytes.littleEndian(at: offset, as: UInt64.self),
            bytes.littleEndian(at: offset + 8, as: UInt64.self),
            bytes.littleEndian(at: offset + 16, as: UInt64.self),
            bytes.littleEndian(at: offset + 24, as: UInt64.self)
        )
    }

    /// 32 zero bytes, in place of a hash that is not known.
    package static let zero = ContentHash([0, 0, 0, 0])

    private init(_ numbers: [UInt64]) {
        words = (numbers[0], numbers[1], numbers[2], numbers[3])
    }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        append(to: &writer)
        return writer.finish()
    }

    /// Appends the 32 bytes.
    package func append(to writer: inout ByteWriter) {
        writer.number(words.0)
        writer.number(words.1)
        writer.number(words.2)
        writer.number(words.3)
    }

    package static func == (left: ContentHash, right: ContentHash) -> Bool {
        left.words == right.words
    }

    /// Feeds half of the hash to a hasher of the standard library.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}

extension ByteCursor {
    /// Reads a hash: 32 bytes.
    ///
    /// - Throws: `.truncated`.
    mutating func hash(from bytes: RawSpan) throws(FormatError) -> ContentHash {
        ContentHash(bytes, at: try range(ContentHash.byteCount, of: bytes).lowerBound)
    }
}
