/// Finds which words of a recovery key were mistyped, by looking for a small change that fits the checksum.
///
/// The checksum has 48 bits, and at most 2^19 changes are tried: one that fits is the right one except with a
/// probability of 2^-29.
struct RecoveryMistakes {
    private let words: [RecoveryWord]

    /// - Parameter words: Words that are no recovery key.
    init(_ words: [RecoveryWord]) {
        self.words = words
    }

    func find() -> RecoveryKeyError {
        switch words.count {
        case RecoveryKey.wordCount: exchange() ?? oneWord() ?? twoWords() ?? exchangeAndOneWord() ?? .unclear
        case RecoveryKey.wordCount - 1: missing() ?? .wrongCount(words.count)
        case RecoveryKey.wordCount + 1: extra() ?? .wrongCount(words.count)
        default: .wrongCount(words.count)
        }
    }

    private static func fit(_ words: [RecoveryWord]) -> Bool { RecoveryKey.secret(in: words) != nil }

    private func exchange() -> RecoveryKeyError? {
        for first in words.indices {
            for second in words.indices.dropFirst(first + 1) {
                var changed = words
                changed.swapAt(first, second)
                if Self.fit(changed) { return .exchanged(first: first + 1, second: second + 1) }
            }
        }
        return nil
    }

    private func oneWord() -> RecoveryKeyError? {
        for index in words.indices {
            var changed = words
            for place in RecoveryWord.all.indices {
                changed[index] = RecoveryWord(place: place)
                if Self.fit(changed) { return .wrongWords([wrong(index, changed)]) }
            }
        }
        return nil
    }

    /// Looks for two words that were each mistaken for one that looks like it.
    private func twoWords() -> RecoveryKeyError? {
        let alike = words.map(\.alike)
        for first in words.indices {
            for second in words.indices.dropFirst(first + 1) {
                var changed = words
                for one in alike[first] {
                    changed[first] = one
                    for other in alike[second] {
                        changed[second] = other
                        if Self.fit(changed) {
                            return .wrongWords([wrong(first, changed), wrong(second, changed)])
                        }
                    }
                }
            }
        }
        return nil
    }

    /// Looks for two words in each other's place, and a third that was mistaken for one that looks like it.
    private func exchangeAndOneWord() -> RecoveryKeyError? {
        let alike = words.map(\.alike)
        for first in words.indices {
            for second in words.indices.dropFirst(first + 1) {
                for third in words.indices where third != first && third != second {
                    var changed = words
                    changed.swapAt(first, second)
                    for one in alike[third] {
                        changed[third] = one
                        if Self.fit(changed) {
                            return .wrongWords([first, second, third].sorted().map { wrong($0, changed) })
                        }
                    }
                }
            }
        }
        return nil
    }

    private func missing() -> RecoveryKeyError? {
        for index in 0...words.count {
            var changed = words
            changed.insert(RecoveryWord(place: 0), at: index)
            for place in RecoveryWord.all.indices {
                changed[index] = RecoveryWord(place: place)
                if Self.fit(changed) { return .missingWord(number: index + 1) }
            }
        }
        return nil
    }

    private func extra() -> RecoveryKeyError? {
        for index in words.indices {
            var changed = words
            changed.remove(at: index)
            if Self.fit(changed) { return .extraWord(number: index + 1, typed: "\(words[index])") }
        }
        return nil
    }

    private func wrong(_ index: Int, _ changed: [RecoveryWord]) -> RecoveryKeyError.WrongWord {
        .init(number: index + 1, typed: "\(words[index])", fitting: "\(changed[index])")
    }
}
