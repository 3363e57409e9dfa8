/// One word of a recovery key: a place in the list of words, which is a number of 11 bits.
package struct RecoveryWord: Equatable, Sendable, CustomStringConvertible {
    /// The number of bits that a word encodes.
    static let bitCount = 11
    /// The number of words in the list.
    static let all = FingerprintWords.all
    /// The number of letters that tell every word from all others.
    private static let prefixLength = 4
    /// The largest number of typing mistakes at which a word is suggested.
    private static let distanceMax = 2
    private static let suggestionCountMax = 3, alikeCountMax = 40

    /// The place in the list, from 0.
    let place: Int

    init(place: Int) {
        self.place = place
    }

    /// Reads a word as a person typed it: in upper or lower case, or its first four letters.
    ///
    /// - Throws: `.unknownWord` with the words that look most like it, and `number`.
    package init(_ typed: String, number: Int) throws(RecoveryKeyError) {
        let text = typed.lowercased()
        if let place = Self.all.firstIndex(of: text) {
            self.place = place
            return
        }
        if text.count >= Self.prefixLength, let place = Self.all.firstIndex(where: { $0.hasPrefix(text) }) {
            self.place = place
            return
        }
        throw .unknownWord(number: number, typed: typed, alike: Self.suggestions(for: text))
    }

    /// The word.
    package var description: String { Self.all[place] }

    /// Splits typed text into words; ignores numbers and everything else that is not a letter.
    package static func split(_ text: String) -> [String] {
        text.split { !$0.isLetter }.map(String.init)
    }

    // MARK: Words that look alike

    /// The words of the list that are most like a typed word; none if it is too long, or like no word.
    private static func suggestions(for typed: String) -> [String] {
        guard typed.utf8.count <= 16 else { return [] }
        let letters = Array(typed.utf8)
        let distances = all.map { distance(letters, Array($0.utf8)) }
        guard let least = distances.min(), least <= distanceMax else { return [] }
        return Array(zip(all, distances).filter { $0.1 == least }.map(\.0).prefix(suggestionCountMax))
    }

    /// The words that a person most easily types, or reads, in place of this one.
    var alike: [RecoveryWord] {
        let letters = Array(Self.all[place].utf8)
        let distances = Self.all.map { Self.distance(letters, Array($0.utf8)) }
        let near = Self.all.indices.filter { $0 != place && distances[$0] <= Self.distanceMax }
        return near.sorted { (distances[$0], $0) < (distances[$1], $1) }.prefix(Self.alikeCountMax)
            .map(RecoveryWord.init(place:))
    }

    /// The number of letters that must be changed, inserted, removed, or exchanged with their neighbours.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var rows = [Array(0...right.count)]
        for row in left.indices {
            var next = [row + 1]
            for column in right.indices {
                let change = rows[row][column] + (left[row] == right[column] ? 0 : 1)
                var least = min(change, next[column] + 1, rows[row][column + 1] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    least = min(least, rows[row - 1][column - 1] + 1)
                }
                next.append(least)
            }
            rows.append(next)
        }
        return rows[left.count][right.count]
    }
}
