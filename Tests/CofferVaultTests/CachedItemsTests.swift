import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// More items than memory keeps: an operation on several of them loses none of its changes.
@Suite struct CachedItemsTests {
    /// More than the 16,384 clean items that are kept.
    private static let count = 17_000
    private let test: TestVault
    private let vault: Vault
    /// A directory that is not in memory, with a directory "d" and a file "c".
    private let old: Int64

    init() throws {
        test = try TestVault.create()
        do {
            let before = try test.open()
            old = try before.makeDirectory("old")
            _ = try before.makeDirectory("d", in: old)
            _ = try before.makeFile("c", in: old)
            try before.close()
        }
        vault = try test.open()
    }

    /// Makes as many files as fit into memory, and stores them; the last one has content.
    private func fill() throws -> Int64 {
        var last: Int64 = 0
        for number in 0..<Self.count { last = try vault.makeFile("f\(number)") }
        try vault.put([1, 2, 3], to: last)
        try vault.commit()
        return last
    }

    /// Nothing is damaged, and another mount sees the same.
    private func reopened() throws -> Vault {
        #expect(try vault.damage() == [])
        try vault.close()
        let again = try test.on(test.directory.copy()).open()
        #expect(try again.damage() == [])
        return again
    }

    @Test func aLinkIsCounted() throws {
        let last = try fill()
        #expect(try vault.link(last, as: Array("x".utf8), in: old).links == 2)
        try vault.commit()
        #expect(try vault.attributes(of: last).links == 2)
        try vault.remove("f\(Self.count - 1)")
        let again = try reopened()
        #expect(try again.content(of: try again.number(of: "x", in: old)) == [1, 2, 3])
    }

    @Test func aDirectoryThatMovesIsCountedInBoth() throws {
        let from = try vault.makeDirectory("a")
        let moved = try vault.makeDirectory("b", in: from)
        _ = try fill()
        _ = try vault.move("b", in: from, to: "b", into: old)
        try vault.commit()
        let again = try reopened()
        #expect(try again.attributes(of: from).links == 2)
        #expect(try again.attributes(of: old).links == 4)
        #expect(try again.lookup([46, 46], in: moved).number == old)
    }

    @Test func anExchangeIsCountedInBoth() throws {
        let from = try vault.makeDirectory("a")
        _ = try vault.makeDirectory("b", in: from)
        _ = try fill()
        _ = try vault.move("b", in: from, to: "c", into: old, mode: .exchange)
        let again = try reopened()
        #expect(try again.attributes(of: from).links == 2)
        #expect(try again.attributes(of: old).links == 4)
    }

    @Test func aRemovedDirectoryIsCounted() throws {
        _ = try vault.makeFile("in memory from here on", in: old)
        try vault.commit()
        _ = try fill()
        vault.release(try vault.removeDirectory(Array("d".utf8), in: old))
        let again = try reopened()
        #expect(try again.attributes(of: old).links == 2)
    }
}
