internal import CofferSystem

/// The multiset hash over what is shown: the sum, modulo 2^256, of a keyed hash of each entry and item.
///
/// It changes with each that comes or goes, whatever the order; two devices that show the same have the same
/// (MSet-Add-Hash of Clarke et al., Asiacrypt 2003).
package struct StateHash: Hashable, Sendable {
    /// The number, its lowest 64 bits first.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Bytes of each.
    package static let byteCount = 32

    /// The hash of nothing.
    package static let zero = StateHash()

    private init() {}

    /// Reads 32 bytes; nil if they are not as many.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        func word(_ index: Int) -> UInt64 {
            unsafe bytes.span.bytes.littleEndian(at: 8 * index, as: UInt64.self)
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// The 32 bytes, lowest first.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.number(words.0)
        writer.number(words.1)
        writer.number(words.2)
        writer.number(words.3)
        return writer.finish()
    }

    /// Adds the hash of what comes.
    package mutating func add(_ other: StateHash) {
        var carry: UInt64 = 0
        Self.add(&words.0, other.words.0, &carry)
        Self.add(&words.1, other.words.1, &carry)
        Self.add(&words.2, other.words.2, &carry)
        Self.add(&words.3, other.words.3, &carry)
    }

    /// Subtracts the hash of what goes.
    package mutating func subtract(_ other: StateHash) {
        // x - y = x + ¬y + 1 modulo 2^256.
        var carry: UInt64 = 1
        Self.add(&words.0, ~other.words.0, &carry)
        Self.add(&words.1, ~other.words.1, &carry)
        Self.add(&words.2, ~other.words.2, &carry)
        Self.add(&words.3, ~other.words.3, &carry)
    }

    private static func add(_ word: inout UInt64, _ other: UInt64, _ carry: inout UInt64) {
        let (first, firstCarry) = word.addingReportingOverflow(other)
        let (second, secondCarry) = first.addingReportingOverflow(carry)
        word = second
        carry = firstCarry || secondCarry ? 1 : 0
    }

    package static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    /// Half of its words are enough for a table.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.3)
    }
}
