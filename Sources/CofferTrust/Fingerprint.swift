internal import CofferCrypto
package import CofferFormat

/// An identity as words, to be compared aloud.
///
/// Eight words of 2,048: 88 bits of a hash of link 0 of the identity chain, so they stay when keys are rolled.
package struct Fingerprint: Equatable, Sendable, CustomStringConvertible {
    /// Words of every fingerprint.
    package static let wordCount = 8
    /// Bits that a word stands for.
    private static let wordBits = 11

    /// The words, in order.
    package let words: [String]

    /// The fingerprint of an identity.
    package init(of identity: IdentityID) {
        let hash = Blake2b.hash(identity.bytes, for: .fingerprint)
        words = (0..<Self.wordCount).map { word in
            let bits = word * Self.wordBits..<(word + 1) * Self.wordBits
            let place = bits.reduce(0) { place, bit in
                place << 1 | Int(hash[bit / 8] >> UInt8(7 - bit % 8) & 1)
            }
            return FingerprintWords.all[place]
        }
    }

    /// The words, with blanks between them.
    package var description: String { words.joined(separator: " ") }

    /// What came of comparing.
    package enum Comparison: Equatable, Sendable {
        /// All words are the same.
        case same
        /// The first word that differs, counted from 1.
        case differs(word: Int)
        /// More or fewer words than there are.
        case wrongCount(Int)
    }

    /// Compares with what somebody typed: capitals, and what stands between words, do not matter.
    package func compare(with text: String) -> Comparison {
        let typed = text.lowercased().split { !$0.isLetter }.map(String.init)
        if let index = zip(words, typed).enumerated().first(where: { $0.element.0 != $0.element.1 })?.offset {
            return .differs(word: index + 1)
        }
        return typed.count == words.count ? .same : .wrongCount(typed.count)
    }
}
