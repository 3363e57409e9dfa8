internal import CofferCrypto
package import CofferFormat

/// An identity as words, to be compared aloud.
///
/// Eight of 2,048 words encode 88 bits of a hash of the identity id, so the words stay the same when keys are
/// rolled.
package struct Fingerprint: Equatable, Sendable, CustomStringConvertible {
    /// The number of words in every fingerprint.
    package static let wordCount = 8
    /// The number of bits that a word encodes.
    private static let wordBits = 11

    /// The words in their order.
    package let words: [String]

    /// Computes the fingerprint of an identity.
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

    /// The words, separated by blanks.
    package var description: String { words.joined(separator: " ") }

    /// The result of a comparison.
    package enum Comparison: Equatable, Sendable {
        /// All words are the same.
        case same
        /// The first word that differs, counted from 1.
        case differs(word: Int)
        /// All compared words are the same, but there are more or fewer words than in the fingerprint.
        case wrongCount(Int)
    }

    /// Compares the words with typed text; ignores upper case, and everything between the words.
    package func compare(with text: String) -> Comparison {
        let typed = text.lowercased().split { !$0.isLetter }.map(String.init)
        if let index = zip(words, typed).enumerated().first(where: { $0.element.0 != $0.element.1 })?.offset {
            return .differs(word: index + 1)
        }
        return typed.count == words.count ? .same : .wrongCount(typed.count)
    }
}
