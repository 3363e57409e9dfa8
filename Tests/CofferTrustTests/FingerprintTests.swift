import CofferFormat
import Testing

@testable import CofferTrust

@Suite struct FingerprintTests {
    @Test func theListHas256WordsThatNobodyMistakes() {
        let words = FingerprintWords.all
        #expect(words.count == 256)
        #expect(words == Set(words).sorted())
        for word in words {
            #expect((3...8).contains(word.count), "\(word)")
            #expect(word.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }, "\(word)")
        }
        for (index, word) in words.enumerated() {
            for other in words[(index + 1)...] where areClose(Array(word.utf8), Array(other.utf8)) {
                Issue.record("\(word) and \(other) are one letter apart")
            }
        }
    }

    private func areClose(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        if left.count == right.count { return zip(left, right).count { $0 != $1 } <= 1 }
        let (short, long) = left.count < right.count ? (left, right) : (right, left)
        guard long.count == short.count + 1 else { return false }
        return long.indices.contains { index in
            var cut = long
            cut.remove(at: index)
            return cut == short
        }
    }

    @Test func wordsStayWhenKeysAreRolled() throws {
        let alice = try Person(1)
        let before = Fingerprint(of: alice.id)
        #expect(before.words.count == 10)
        try alice.roll()
        #expect(Fingerprint(of: alice.id) == before)
        #expect(Fingerprint(of: try Person(2).id) != before)
    }

    @Test func wordsAreComparedAsPeopleTypeThem() throws {
        let print = Fingerprint(of: try Person(1).id)
        #expect(print.compare(with: print.description) == .same)
        #expect(print.compare(with: "  " + print.words.joined(separator: "-").uppercased() + "\n") == .same)
        #expect(print.compare(with: print.words.joined(separator: ",\n ")) == .same)
        var words = print.words
        words[3] = words[3] == "acid" ? "acorn" : "acid"
        #expect(print.compare(with: words.joined(separator: " ")) == .differs(word: 4))
        #expect(print.compare(with: print.words.dropLast().joined(separator: " ")) == .wrongCount(9))
        #expect(print.compare(with: print.description + " acid") == .wrongCount(11))
        #expect(print.compare(with: "") == .wrongCount(0))
    }
}
