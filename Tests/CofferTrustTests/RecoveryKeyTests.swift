import CofferCrypto
import CofferFormat
import Testing

@testable import CofferTrust

/// The words of recovery keys, and what is said about mistakes in them.
@Suite struct RecoveryKeyTests {
    private static let profile = ProfileID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)

    private static func key() -> RecoveryKey {
        let secret = Array(UInt8(0)..<16)
        return RecoveryKey(SecretBytes(copying: secret.span.bytes))
    }

    private static func read(_ words: [String]) throws(RecoveryKeyError) -> RecoveryKey {
        try RecoveryKey(words: words)
    }

    private static func mistake(_ words: [String]) -> RecoveryKeyError? {
        do throws(RecoveryKeyError) {
            _ = try read(words)
            return nil
        } catch {
            return error
        }
    }

    private static func isSame(_ left: RecoveryKey, _ right: RecoveryKey) -> Bool {
        left.secret.isEqual(to: right.secret)
    }

    /// Messages for scripts give numbers alone, and none repeats a long text, which is no mistyped word.
    @Test func messagesCanLeaveOutTheWords() {
        let wrong = RecoveryKeyError.WrongWord(number: 7, typed: "wage", fitting: "wave")
        let errors: [RecoveryKeyError] = [
            .unknownWord(number: 5, typed: "appel", alike: ["apple"]), .wrongWords([wrong]),
            .extraWord(number: 3, typed: "zoo"), .exchanged(first: 1, second: 2), .missingWord(number: 4),
            .wrongCount(9), .unclear,
        ]
        for error in errors {
            #expect(!"\(error.withoutWords)".contains("“"), "\(error.withoutWords)")
        }
        #expect(
            "\(RecoveryKeyError.wrongWords([wrong]).withoutWords)"
                == "Word 7 does not fit the other words. Compare with your sheet.")
        let long = RecoveryKeyError.unknownWord(
            number: 1, typed: String(repeating: "a", count: 17), alike: [])
        #expect("\(long)" == "Word 1 is not a word of recovery keys. Compare with your sheet.")
    }

    /// The values of docs/format.md, "Recovery key".
    @Test func values() {
        let words = Self.key().words
        #expect(words.joined(separator: " ") == Self.documentedWords)
        #expect(Self.key().id(in: Self.profile).description == Self.documentedID)
    }

    private static let documentedWords =
        "abandon amount liar amount expire adjust cage candy"
        + " arch gather drum cabin party reason purpose tragic"
    private static let documentedID = "9dd8d3c00c5aaaa19869f60c80175a9e"

    @Test func wordsReadAsWritten() throws {
        for _ in 0..<200 {
            let key = RecoveryKey()
            #expect(key.words.count == 16)
            #expect(Self.isSame(try Self.read(key.words), key))
        }
    }

    /// Capitals, numbers, punctuation, and words cut after four letters are how people write.
    @Test func peopleWriteAsTheyLike() throws {
        let key = Self.key()
        let text = key.words.enumerated().map { "\($0 + 1). \($1.uppercased())," }.joined(separator: "\n")
        #expect(Self.isSame(try Self.read(RecoveryWord.split(text)), key))
        #expect(Self.isSame(try Self.read(key.words.map { String($0.prefix(4)) }), key))
    }

    /// Four letters tell all words apart; fewer are no abbreviation.
    @Test func abbreviationsAreClear() throws {
        for word in RecoveryWord.all {
            #expect(try RecoveryWord(String(word.prefix(4)), number: 1).description == word)
        }
        #expect(throws: RecoveryKeyError.self) { try RecoveryWord("aba", number: 1) }
        #expect(throws: RecoveryKeyError.self) { try RecoveryWord("", number: 1) }
    }

    @Test func anUnknownWordIsNamedWithWhatItMayBe() {
        var words = Self.key().words
        words[6] = "appel"
        #expect(Self.mistake(words) == .unknownWord(number: 7, typed: "appel", alike: ["apple"]))
        words[6] = "Zürich"
        guard case .unknownWord(7, "Zürich", _) = Self.mistake(words) else {
            Issue.record("no unknown word")
            return
        }
        words[6] = String(repeating: "x", count: 100_000)
        guard case .unknownWord(7, _, []) = Self.mistake(words) else {
            Issue.record("no unknown word")
            return
        }
    }

    /// Each wrong word is named, also if it is in the list, with the word that should be there.
    @Test(arguments: [0, 5, 10, 11, 12, 15])
    func aWrongWordIsNamed(index: Int) {
        let right = Self.key().words
        for wrong in ["zoo", "abandon", "wage"] where wrong != right[index] {
            var words = right
            words[index] = wrong
            let expected = RecoveryKeyError.WrongWord(number: index + 1, typed: wrong, fitting: right[index])
            #expect(Self.mistake(words) == .wrongWords([expected]))
        }
    }

    @Test func twoWordsThatLookAlikeAreNamed() throws {
        var words = Self.key().words
        var expected: [RecoveryKeyError.WrongWord] = []
        for index in [3, 14] {
            let place = try #require(RecoveryWord.all.firstIndex(of: words[index]))
            let other = try #require(RecoveryWord(place: place).alike.first).description
            expected.append(.init(number: index + 1, typed: other, fitting: words[index]))
            words[index] = other
        }
        #expect(Self.mistake(words) == .wrongWords(expected))
    }

    @Test func exchangedWordsAreNamed() {
        let right = Self.key().words
        for (first, second) in [(0, 1), (4, 11), (14, 15)] where right[first] != right[second] {
            var words = right
            words.swapAt(first, second)
            #expect(Self.mistake(words) == .exchanged(first: first + 1, second: second + 1))
        }
    }

    @Test func exchangedWordsAreNamedBesideOneThatLooksAlike() throws {
        let right = Self.key().words
        var words = right
        words.swapAt(13, 14)
        let place = try #require(RecoveryWord.all.firstIndex(of: words[2]))
        words[2] = try #require(RecoveryWord(place: place).alike.last).description
        let expected = [2, 13, 14].map {
            RecoveryKeyError.WrongWord(number: $0 + 1, typed: words[$0], fitting: right[$0])
        }
        #expect(Self.mistake(words) == .wrongWords(expected))
    }

    @Test func aMissingWordIsNamed() {
        for index in [0, 7, 15] {
            var words = Self.key().words
            words.remove(at: index)
            #expect(Self.mistake(words) == .missingWord(number: index + 1))
        }
    }

    @Test func aWordTooManyIsNamed() {
        var words = Self.key().words
        words.insert("zoo", at: 9)
        #expect(Self.mistake(words) == .extraWord(number: 10, typed: "zoo"))
    }

    @Test func otherWordsAreNoKey() {
        #expect(Self.mistake([]) == .wrongCount(0))
        #expect(Self.mistake(["zoo"]) == .wrongCount(1))
        #expect(Self.mistake(Array(repeating: "zoo", count: 5000)) == .wrongCount(5000))
        #expect(Self.mistake(Array(repeating: "zoo", count: 16)) == .unclear)
        #expect(Self.mistake(Self.key().words.reversed()) == .unclear)
    }

    @Test func idsDifferByKeyAndProfile() {
        let (one, other) = (Self.key(), RecoveryKey())
        #expect(one.id(in: Self.profile) != other.id(in: Self.profile))
        #expect(one.id(in: Self.profile) != one.id(in: ProfileID(low: 1, high: 2)))
        let key = one.wrapKey(in: Self.profile)
        let elsewhere = one.wrapKey(in: ProfileID(low: 1, high: 2))
        let isSame = key.bytes.isEqual(to: elsewhere.bytes)
        #expect(!isSame)
    }

    @Test func textsTellWhatToDo() {
        let texts: [RecoveryKeyError] = [
            .unknownWord(number: 1, typed: "x", alike: []),
            .unknownWord(number: 1, typed: "x", alike: ["a", "b"]),
            .wrongWords([.init(number: 2, typed: "a", fitting: "b")]), .exchanged(first: 1, second: 2),
            .missingWord(number: 3), .extraWord(number: 4, typed: "x"), .wrongCount(1), .wrongCount(15),
            .unclear,
        ]
        #expect(
            texts.map(\.description) == [
                "Word 1, “x”, is not a word of recovery keys. Compare with your sheet.",
                "Word 1, “x”, is not a word of recovery keys. Perhaps it is “a” or “b”.",
                "Word 2, “a”, does not fit the other words; “b” does. Compare with your sheet.",
                "Words 1 and 2 are in each other's place. Compare the order with your sheet.",
                "Word 3 is missing: a recovery key has 16 words. Compare with your sheet.",
                "Word 4, “x”, is one too many: a recovery key has 16 words. Compare with your sheet.",
                "A recovery key has 16 words; there is 1. Compare with your sheet.",
                "A recovery key has 16 words; there are 15. Compare with your sheet.",
                "The words are no recovery key: three or more of them are wrong, or their order is. Compare with your sheet.",
            ])
    }
}
