internal import CofferSystem

/// The 24-byte nonce of XChaCha20-Poly1305: a random 16-byte prefix, then a 64-bit little-endian number.
///
/// In an extent, the number counts the blocks; in a single record, all 24 bytes are random.
package struct Nonce: Sendable, Equatable {
    /// The size of a nonce, in bytes.
    package static let byteCount = 24

    /// Bytes 0 to 15.
    package let prefix: NoncePrefix
    /// Bytes 16 to 23, as a little-endian number.
    package let number: UInt64

    package init(prefix: NoncePrefix, number: UInt64) {
        self.prefix = prefix
        self.number = number
    }

    /// A new random nonce.
    package static func random() -> Nonce {
        Nonce(prefix: .random(), number: Random.number())
    }

    /// Reads 24 bytes at `offset`.
    package init(_ bytes: RawSpan, at offset: Int) {
        prefix = NoncePrefix(bytes, at: offset)
        number = bytes.littleEndian(at: offset + 16, as: UInt64.self)
    }

    /// Writes 24 bytes at `offset`.
    package func store(into bytes: inout MutableRawSpan, at offset: Int) {
        prefix.store(into: &bytes, at: offset)
        bytes.storeLittleEndian(number, at: offset + 16)
    }
}

/// The first 16 bytes of a nonce, as two little-endian numbers.
package struct NoncePrefix: Sendable, Hashable {
    /// The size of a prefix, in bytes.
    package static let byteCount = 16

    /// Bytes 0 to 7, as a little-endian number.
    package let low: UInt64
    /// Bytes 8 to 15, as a little-endian number.
    package let high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// A new random prefix.
    package static func random() -> NoncePrefix {
        NoncePrefix(low: Random.number(), high: Random.number())
    }

    /// Reads 16 bytes at `offset`.
    package init(_ bytes: RawSpan, at offset: Int) {
        low = bytes.littleEndian(at: offset, as: UInt64.self)
        high = bytes.littleEndian(at: offset + 8, as: UInt64.self)
    }

    /// Writes 16 bytes at `offset`.
    package func store(into bytes: inout MutableRawSpan, at offset: Int) {
        bytes.storeLittleEndian(low, at: offset)
        bytes.storeLittleEndian(high, at: offset + 8)
    }
}
