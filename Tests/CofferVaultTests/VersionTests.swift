import CofferFormat
import CofferTestSupport
import Testing

import CofferVault

/// New versions of a file from elsewhere, without a mount.
@Suite struct VersionTests {
    private func name(_ text: String) -> Vault.Name { Vault.Name(Array(text.utf8), in: Vault.rootNumber) }

    private func replace(_ vault: Vault, _ number: Int64, _ names: [String], _ bytes: [UInt8]) throws -> Int64
    {
        try vault.replaceContent(
            of: number, names: names.map { name($0) }, with: bytes.span.bytes, modified: 7)
    }

    @Test func theOldVersionIsRemovedAtOnce() throws {
        let vault = try TestVault.create().open()
        let old = try vault.makeFile("a", [1, 2, 3])
        let new = try replace(vault, old, ["a"], [4])
        #expect(try vault.files() == ["a": [4]])
        #expect(try vault.attributes(of: new).modified == 7)
        #expect(fails("stale") { _ = try vault.attributes(of: old) })
        try vault.commit()
        #expect(try vault.damage() == [])
    }

    @Test func reencryptionSurvivesACrash() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        _ = try replace(vault, try vault.makeFile("a", [1]), ["a"], [2, 3])
        try vault.commit()
        let again = try test.crashed(seed: 1).open()
        #expect(try again.files() == ["a": [2, 3]])
        #expect(try again.damage() == [])
    }

    @Test func aNameOfAnotherFile() throws {
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
}
