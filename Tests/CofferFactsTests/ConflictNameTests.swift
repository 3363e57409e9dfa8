import CofferFormat
import CofferTestSupport
import Testing

@testable import CofferFacts

@Suite struct ConflictNameTests {
    /// 2026-11-20, 23:59:59 UTC.
    private let time: UInt64 = 1_795_219_199_000

    private func wanted(_ name: some Collection<UInt8>, _ label: String?) throws -> EntryName {
        ConflictName.wanted(for: try #require(EntryName(name)), label: label, milliseconds: time)
    }

    @Test(
        "The label goes in front of the extension",
        arguments: [
            ("report.txt", "report (conflict, Bob's laptop, 2026-11-20).txt"),
            ("report", "report (conflict, Bob's laptop, 2026-11-20)"),
            (".profile", ".profile (conflict, Bob's laptop, 2026-11-20)"),
            ("a.tar.gz", "a.tar (conflict, Bob's laptop, 2026-11-20).gz"),
            ("a.not an extension", "a.not an extension (conflict, Bob's laptop, 2026-11-20)"),
        ])
    func place(_ name: String, _ expected: String) throws {
        #expect(try wanted(name.utf8, "Bob's laptop").description == expected)
    }

    @Test(
        "A label takes the place of the one that is there",
        arguments: [
            ("a (conflict, x, 2026-01-02).txt", "a (conflict, Bob's laptop, 2026-11-20).txt"),
            ("a (conflict, x, 2026-01-02) 7.txt", "a (conflict, Bob's laptop, 2026-11-20).txt"),
            ("a (conflict, 2026-01-02)", "a (conflict, Bob's laptop, 2026-11-20)"),
            (
                "a (conflict, x, 2026-01-02) (conflict, y, 2026-01-03).txt",
                "a (conflict, Bob's laptop, 2026-11-20).txt"
            ),
            ("a (conflict, x).txt", "a (conflict, x) (conflict, Bob's laptop, 2026-11-20).txt"),
        ])
    func oneGeneration(_ name: String, _ expected: String) throws {
        #expect(try wanted(name.utf8, "Bob's laptop").description == expected)
    }

    @Test(
        "What this device wrote has no label",
        arguments: [
            ("a.txt", "a (conflict, 2026-11-20).txt"), ("a", "a (conflict, 2026-11-20)"),
            (".a", ".a (conflict, 2026-11-20)"), ("a.tar.gz", "a.tar (conflict, 2026-11-20).gz"),
        ])
    func noLabel(_ name: String, _ expected: String) throws {
        let name = try #require(EntryName(name.utf8))
        let wanted = ConflictName.wanted(for: name, milliseconds: time)
        #expect(wanted.description == expected)
        #expect(ConflictName.wanted(from: ConflictName.numbered(wanted, 2)) == wanted)
    }

    @Test(
        "Labels are made fit for names",
        arguments: [
            ("a/b\\c", "a-b-c"), ("a\0\n\u{202E}b", "ab"), ("(x)", "[x]"), ("", "unnamed device"),
            ("  ", "unnamed device"), ("a\u{600} ", "a\u{600}"),
            (String(repeating: "é", count: 40), String(repeating: "é", count: 32)),
        ])
    func labels(_ label: String, _ expected: String) throws {
        #expect(try wanted("a".utf8, label).description == "a (conflict, \(expected), 2026-11-20)")
    }

    @Test(
        "Names of copies are taken apart",
        arguments: ["report.txt", "report", ".profile", "a.tar.gz", "a (conflict, x).txt", "é"])
    func parts(_ name: String) throws {
        let wanted = try wanted(name.utf8, "Bob's, laptop")
        for number in [1, 2, 37] {
            let parts = try #require(ConflictName.parts(of: ConflictName.numbered(wanted, number)))
            #expect(parts.original.description == name)
            #expect(parts.label == "Bob's, laptop" && parts.date == "2026-11-20")
        }
    }

    @Test(
        "Other names have no parts",
        arguments: [
            "a", "a (conflict)", "a (conflict, x)", "a (conflict, x, 2026-1-2)", "a (conflict, x, 2026-01-02",
            "a conflict, x, 2026-01-02)", " (conflict, x, 2026-01-02)", "a (conflict, x 2026-01-02)",
            "a (conflict, x, 2026-01-0é)",
        ])
    func noParts(_ name: String) throws {
        #expect(ConflictName.parts(of: try #require(EntryName(name.utf8))) == nil)
    }

    @Test("Long names are cut between characters, with room for a number")
    func length() throws {
        let name = try wanted((String(repeating: "é", count: 125) + ".txt").utf8, "x")
        #expect(String(validating: name.bytes, as: UTF8.self) != nil)
        #expect(name.bytes.count <= 244)
        #expect(ConflictName.numbered(name, 4_000_000_000).bytes.count <= 255)
        #expect(name.description.hasSuffix("é (conflict, x, 2026-11-20).txt"))
        let noText = try wanted(Array(repeating: 0x80, count: 255), "x")
        #expect(noText.bytes.count == 244)
    }

    @Test("Numbers follow the label")
    func numbers() throws {
        let name = try wanted("a.txt".utf8, "v1.2")
        #expect(ConflictName.numbered(name, 1) == name)
        #expect(ConflictName.numbered(name, 2).description == "a (conflict, v1.2, 2026-11-20) 2.txt")
        let bare = try wanted("a".utf8, "v1.2")
        #expect(ConflictName.numbered(bare, 12).description == "a (conflict, v1.2, 2026-11-20) 12")
    }

    @Test("A name with a number shows the original name, for random names")
    func reverse() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        let parts = ["a", ".", " ", "(", ")", ") 2", " (conflict, ", "2026-11-20", "é", "2", ".txt", ", "]
        for _ in 0..<2000 {
            func text() -> String {
                (0..<1 + random.below(6)).map { _ in random.pick(parts) ?? "" }.joined()
            }
            guard let name = EntryName(text().utf8) else { continue }
            let wanted = ConflictName.wanted(for: name, label: text(), milliseconds: time)
            for number in [1, 2, 10] {
                let numbered = ConflictName.numbered(wanted, number)
                #expect(ConflictName.wanted(from: numbered) == wanted, "seed \(seed): \(numbered)")
            }
        }
    }

    @Test(
        "Days of the calendar",
        arguments: [
            (UInt64(0), "1970-01-01"), (951_782_400_000, "2000-02-29"), (951_868_800_000, "2000-03-01"),
            (4_107_542_399_999, "2100-02-28"), (4_107_542_400_000, "2100-03-01"),
            (1_795_219_200_000, "2026-11-21"),
        ])
    func days(_ milliseconds: UInt64, _ expected: String) {
        #expect(CivilDate(milliseconds: milliseconds).description == expected)
    }
}
