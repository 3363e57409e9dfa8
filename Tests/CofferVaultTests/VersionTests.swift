import CofferTestSupport
import Testing

@testable import CofferVault

/// New versions of a file that come from elsewhere, where nothing is mounted.
@Suite struct VersionTests {
    private func name(_ text: String) -> Vault.Name { Vault.Name(Array(text.utf8), in: Vault.rootNumber) }

    private func replace(_ vault: Vault, _ number: Int64, _ names: [String], _ bytes: [UInt8]) throws -> Int64
    {
        try vault.replaceContent(
            of: number, names: names.map { name($0) }, with: bytes.span.bytes, modified: 7)
    }

    @Test func theOldVersionGoesAtOnce() throws {
        let vault = try TestVault.create().open()
        let old = try vault.makeFile("a", [1, 2, 3])
        let new = try replace(vault, old, ["a"], [4])
        #expect(try vault.files() == ["a": [4]])
        #expect(try vault.attributes(of: new).modified == 7)
        #expect(fails("stale") { _ = try vault.attributes(of: old) })
        try vault.commit()
        #expect(try vault.damage() == [])
    }

    @Test func itOutlivesACrash() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        _ = try replace(vault, try vault.makeFile("a", [1]), ["a"], [2, 3])
        try vault.commit()
        let again = try test.crashed(seed: 1).open()
        #expect(try again.files() == ["a": [2, 3]])
        #expect(try again.damage() == [])
    }

    @Test func aNameThatIsNotTheFiles() throws {
        let vault = try TestVault.create().open()
        let number = try vault.makeFile("a", [1])
        _ = try vault.makeFile("b", [2])
        for names in [["b"], ["c"], ["a", "b"], []] {
            #expect(throws: FileSystemError.self) { _ = try replace(vault, number, names, [3]) }
        }
        #expect(throws: FileSystemError.self) {
            _ = try replace(vault, try vault.makeDirectory("d"), ["d"], [3])
        }
        #expect(try vault.content(of: number) == [1])
        try vault.commit()
        #expect(try vault.damage() == [])
    }

    /// 2026-11-20 in UTC.
    private static let time: Int64 = 1_795_132_800_000_000_000 + 86_399_000_000_000

    @Test(arguments: [
        ("a.txt", 1, "a (conflict, 2026-11-20).txt"), ("a.txt", 2, "a (conflict, 2026-11-20 2).txt"),
        ("a", 1, "a (conflict, 2026-11-20)"), (".a", 1, ".a (conflict, 2026-11-20)"),
        ("a.", 1, "a. (conflict, 2026-11-20)"), ("a.tar.gz", 1, "a.tar (conflict, 2026-11-20).gz"),
    ])
    func namesOfVersions(name: String, count: Int, expected: String) {
        let made = ConflictName.make(Array(name.utf8), at: Self.time, count)
        #expect(String(decoding: made, as: UTF8.self) == expected)
    }

    /// Cut so that they fit, between characters.
    @Test(arguments: [0, 1, 2, 3])
    func longNamesOfVersions(shift: Int) throws {
        let letters = String(repeating: "x", count: shift) + String(repeating: "€", count: 80)
        let made = ConflictName.make(Array((letters + ".txt").utf8), at: Self.time, 12)
        #expect(made.count <= Vault.nameByteCountMax && made.count > Vault.nameByteCountMax - 3)
        let text = try #require(String(validating: made, as: UTF8.self))
        #expect(text.hasSuffix("€ (conflict, 2026-11-20 12).txt"))
        let other = ConflictName.make([UInt8](repeating: 0xbf, count: 255), at: Self.time, 1)
        #expect(other.count <= Vault.nameByteCountMax)
    }
}
