/// A mistake in the words of a recovery key; words are counted from 1.
package enum RecoveryKeyError: Error, Equatable {
    /// A word is not in the list.
    case unknownWord(number: Int, typed: String, alike: [String])
    /// All words are in the list, but up to three of them do not fit the others.
    case wrongWords([WrongWord])
    /// Two words have each other's place.
    case exchanged(first: Int, second: Int)
    /// A word is missing.
    case missingWord(number: Int)
    /// There is a word too many.
    case extraWord(number: Int, typed: String)
    /// The number of words is wrong, and it cannot be said which are missing or too many.
    case wrongCount(Int)
    /// Several words are wrong, and it cannot be said which.
    case unclear

    /// A word that does not fit the others.
    package struct WrongWord: Equatable, Sendable {
        /// Its number, from 1.
        package let number: Int
        /// The word that was typed.
        package let typed: String
        /// The word that fits.
        package let fitting: String
    }
}

extension RecoveryKeyError {
    /// The mistake without any word of the key, for messages that may end up in a log.
    package var withoutWords: RecoveryKeyError {
        switch self {
        case .unknownWord(let number, _, _): .unknownWord(number: number, typed: "", alike: [])
        case .wrongWords(let words):
            .wrongWords(words.map { WrongWord(number: $0.number, typed: "", fitting: "") })
        case .extraWord(let number, _): .extraWord(number: number, typed: "")
        case .exchanged, .missingWord, .wrongCount, .unclear: self
        }
    }
}

extension RecoveryKeyError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownWord(let number, let typed, let alike):
            "Word \(number)\(Self.quoted(typed)) is not a word of recovery keys." + Self.nearest(alike)
        case .wrongWords(let words):
            words.map {
                "Word \($0.number)\(Self.quoted($0.typed)) does not fit the other words\(Self.fitting($0))."
            }
            .joined(separator: " ") + " Compare with your sheet."
        case .exchanged(let first, let second):
            "Words \(first) and \(second) are in each other's place. Compare the order with your sheet."
        case .missingWord(let number):
            "Word \(number) is missing: a recovery key has \(RecoveryKey.wordCount) words. Compare with your sheet."
        case .extraWord(let number, let typed):
            "Word \(number)\(Self.quoted(typed)) is one too many: a recovery key has \(RecoveryKey.wordCount) words. Compare with your sheet."
        case .wrongCount(let count):
            "A recovery key has \(RecoveryKey.wordCount) words; there \(count == 1 ? "is" : "are") \(count). Compare with your sheet."
        case .unclear:
            "The words are no recovery key: three or more of them are wrong, or their order is. Compare with your sheet."
        }
    }

    /// The number of letters above which a typed text is no mistyped word, and may be another secret.
    private static let shownCountMax = 16

    private static func quoted(_ typed: String) -> String {
        typed.isEmpty || typed.count > shownCountMax ? "" : ", “\(typed)”,"
    }

    private static func fitting(_ word: WrongWord) -> String {
        word.fitting.isEmpty ? "" : "; “\(word.fitting)” does"
    }

    private static func nearest(_ alike: [String]) -> String {
        if alike.isEmpty { return " Compare with your sheet." }
        return " Perhaps it is \(alike.map { "“\($0)”" }.joined(separator: " or "))."
    }
}
