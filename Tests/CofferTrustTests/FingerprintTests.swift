import CofferFormat
import Foundation
import Testing

@testable import CofferTrust

@Suite struct FingerprintTests {
    /// The published list, word for word; the first four letters distinguish each word.
    @Test func theListIsFromBIP39() throws {
        let words = FingerprintWords.all
        #expect(words.count == 2048)
        #expect(words == Set(words).sorted())
        #expect(Set(words.map { $0.prefix(4) }).count == words.count)
        for word in words {
            #expect((3...8).contains(word.count), "\(word)")
            #expect(word.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }, "\(word)")
        }
        // SHA-256 of the published file, computed by another program.
        let sum = Process()
        let (input, output) = (Pipe(), Pipe())
        sum.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
        (sum.standardInput, sum.standardOutput) = (input, output)
        try sum.run()
        try input.fileHandleForWriting.write(contentsOf: Data(words.map { $0 + "\n" }.joined().utf8))
        try input.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        sum.waitUntilExit()
        #expect(text.hasPrefix("2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"))
    }

    /// docs/trust.md, "Test values".
    @Test func eachWordStandsFor11Bits() {
        let bytes = Self.bytes("47f95031f553b826489b8421cfcd4ef9369fd12f95541d77be6f2cdb7d24d9ff")
        let identity = IdentityID(bytes)
        #expect(Fingerprint(of: identity).description == "general cheap moral year ill march garbage faculty")
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
    }

    @Test func wordsStayWhenKeysAreRolled() throws {
        let alice = try Person(1)
        let before = Fingerprint(of: alice.id)
        #expect(before.words.count == 8)
        try alice.roll()
        #expect(Fingerprint(of: alice.id) == before)
        #expect(Fingerprint(of: try Person(2).id) != before)
    }

    @Test func wordsMayBeTypedInAnyForm() throws {
        let print = Fingerprint(of: try Person(1).id)
        #expect(print.compare(with: print.description) == .same)
        #expect(print.compare(with: "  " + print.words.joined(separator: "-").uppercased() + "\n") == .same)
        #expect(print.compare(with: print.words.joined(separator: ",\n ")) == .same)
        var words = print.words
        words[3] = words[3] == "abandon" ? "ability" : "abandon"
        #expect(print.compare(with: words.joined(separator: " ")) == .differs(word: 4))
        #expect(print.compare(with: print.words.dropLast().joined(separator: " ")) == .wrongCount(7))
        #expect(print.compare(with: print.description + " zoo") == .wrongCount(9))
        #expect(print.compare(with: "") == .wrongCount(0))
    }
}
