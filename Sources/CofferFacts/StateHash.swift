package import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// The multiset hash over what is shown: the sum, modulo 2^256, of a keyed hash of each entry and item.
///
/// It changes with each that comes or goes, whatever the order; two devices that show the same have the same
/// (MSet-Add-Hash of Clarke et al., Asiacrypt 2003).
package struct StateHash: Hashable, Sendable {
    /// The number, its lowest 64 bits first.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// The hash of nothing.
    package init() {}

    /// Reads 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        func word(_ index: Int) -> UInt64 {
            unsafe bytes.span.bytes.littleEndian(at: 8 * index, as: UInt64.self)
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// The 32 bytes, lowest first.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 32)
        writer.number(words.0)
        writer.number(words.1)
        writer.number(words.2)
        writer.number(words.3)
        return writer.finish()
    }

    mutating func add(_ other: StateHash) {
        var carry: UInt64 = 0
        Self.add(&words.0, other.words.0, &carry)
        Self.add(&words.1, other.words.1, &carry)
        Self.add(&words.2, other.words.2, &carry)
        Self.add(&words.3, other.words.3, &carry)
    }

    mutating func subtract(_ other: StateHash) {
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

/// The key of a `StateHash`; members share it, so that they can compare, and nobody else can make guesses.
package final class StateHashKey: Sendable {
    private let key: SymmetricKey<StateHashRole>

    /// - Parameter key: Is used up; the value keeps it.
    package init(_ key: consuming SymmetricKey<StateHashRole>) {
        self.key = key
    }

    /// The hash of an entry that is shown: keyed BLAKE2b-256 of 1, parent, item, name.
    func hash(_ showing: Showing) -> StateHash {
        hash { writer in
            writer.number(UInt8(1))
            writer.identifier(showing.place.parent)
            writer.identifier(showing.item)
            writer.append(showing.place.name.bytes)
        }
    }

    /// The hash of an item that is shown: keyed BLAKE2b-256 of 2 and of its attributes as facts.
    ///
    /// All contents count, so that devices that chose between different ones are told apart.
    func hash(_ item: ShownItem, _ id: ItemID) -> StateHash {
        hash { writer in
            writer.number(UInt8(2))
            writer.append(FactRecord.bytes(item.facts(id)))
            for content in item.otherContents {
                writer.append(FactRecord.bytes([Fact(.content(id, content))]))
            }
        }
    }

    private func hash(_ fields: (inout ByteWriter) -> Void) -> StateHash {
        var writer = ByteWriter(capacity: 256)
        fields(&writer)
        let input = writer.finish()
        var output: [UInt8] = .init(repeating: 0, count: 32)
        output.withMutableRawSpan { unsafe Blake2b.hash(input.span.bytes, key: key, into: &$0) }
        return StateHash(bytes: output) ?? StateHash()
    }
}
