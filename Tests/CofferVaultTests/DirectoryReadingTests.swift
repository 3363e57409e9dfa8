import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Reading a directory in pieces while it changes, as POSIX's readdir(3) demands.
@Suite struct DirectoryReadingTests {
    /// A name that leads nowhere hides no other names.
    @Test func aNameThatLeadsNowhere() throws {
        let vault = try TestVault.create().open()
        for name in ["a", "b", "c"] { _ = try vault.makeFile(name) }
        let number = try vault.number(of: "b")
        try vault.commit()
        try vault.state.withLock { try $0.tree.erase(try $0.tree.item(number)) }
        let entries = try vault.readDirectory(Vault.rootNumber, after: 2, limit: 100, attributes: true)
        #expect(entries.map { String(decoding: $0.name, as: UTF8.self) } == ["a", "b", "c"])
        #expect(entries.map { $0.attributes == nil } == [false, true, false])
        #expect(vault.problems.all.contains { $0.text.contains("leads to no item") })
    }

    private let vault: Vault
    private let directory: Int64

    init() throws {
        vault = try TestVault.create().open()
        directory = try vault.makeDirectory("directory")
        for number in 0..<20 { _ = try vault.makeFile("file \(number)", in: directory) }
    }

    private func read(after cookie: Int64, limit: Int = 3) throws -> [Vault.Entry] {
        try vault.readDirectory(directory, after: cookie, limit: limit, attributes: false)
    }

    private func name(_ entry: Vault.Entry) -> String { String(decoding: entry.name, as: UTF8.self) }

    /// A name that is renamed within the directory keeps its place, so renaming all entries comes to an end.
    @Test func renamesWhileReading() throws {
        let names = try readAll {
            for name in try read(after: 2, limit: 100).map(name) where name.hasPrefix("file") {
                try vault.rename(
                    Array(name.utf8), in: directory, to: Array("new \(name)".utf8), in: directory, .replace)
            }
        }
        #expect(names.count == 22)
        #expect(Set(names).count == 22)
    }

    /// A replaced name never disappears.
    @Test func aNameThatIsReplaced() throws {
        var index = 19
        let names = try readAll {
            try vault.rename(
                Array("file \(index)".utf8), in: directory, to: Array("file 5".utf8), in: directory, .replace)
            index -= 1
        }
        #expect(names.filter { $0 == "file 5" }.count == 1)
    }

    /// Exchanged names never disappear.
    @Test func namesThatAreExchanged() throws {
        let names = try readAll {
            try vault.rename(
                Array("file 1".utf8), in: directory, to: Array("file 18".utf8), in: directory, .exchange)
        }
        #expect(names.count == 22)
        #expect(Set(names).count == 22)
    }

    /// Reads from after a cookie to the end, and runs `change` after each piece.
    private func readAll(change: () throws -> Void = {}) throws -> [String] {
        var names: [String] = []
        var cookie: Int64 = 0
        while true {
            let entries = try read(after: cookie)
            guard let last = entries.last else { return names }
            names += entries.map(name)
            cookie = last.cookie
            try change()
        }
    }

    @Test func everyNameComesOnceAndDotsFirst() throws {
        #expect(try readAll() == [".", ".."] + (0..<20).map { "file \($0)" })
    }

    @Test func dotsLeadToTheDirectoryAndItsParent() throws {
        let entries = try read(after: 0)
        #expect(entries.prefix(2).map(\.item) == [directory, Vault.rootNumber])
        #expect(try read(after: 1).first.map(name) == "..")
    }

    @Test func stableNamesAreReadOnceDuringChanges() throws {
        var step = 0
        let names = try readAll {
            if step < 6 {
                try vault.remove("file \(step * 2)", in: directory)
                _ = try vault.makeFile("new \(step)", in: directory)
            }
            step += 1
        }
        #expect(names.count == Set(names).count)
        for number in stride(from: 1, to: 20, by: 2) { #expect(names.contains("file \(number)")) }
        for number in 0..<6 { #expect(names.contains("new \(number)")) }
    }

    @Test func removingEachReadNameEmptiesTheDirectory() throws {
        var cookie: Int64 = 2
        while true {
            let entries = try read(after: cookie, limit: 4)
            guard let last = entries.last else { break }
            for entry in entries { try vault.remove(name(entry), in: directory) }
            cookie = last.cookie
        }
        #expect(try vault.names(in: directory) == [])
        try vault.removeDirectory(Array("directory".utf8), in: Vault.rootNumber)
    }

    /// A program that renames each entry it reads must not find it again.
    @Test func aRenamedNameStaysAtItsPlace() throws {
        let names = try vault.names(in: directory)
        _ = try vault.move("file 3", in: directory, to: "moved", into: directory)
        #expect(try vault.names(in: directory) == names.map { $0 == "file 3" ? "moved" : $0 })
    }

    @Test func aNameFromElsewhereComesLast() throws {
        _ = try vault.makeFile("old")
        _ = try vault.move("old", to: "moved", into: directory)
        #expect(try vault.names(in: directory).last == "moved")
    }

    @Test func theCookieOfARemovedNameStillWorks() throws {
        let third = try #require(try read(after: 2, limit: 3).last)
        try vault.remove(name(third), in: directory)
        #expect(try read(after: third.cookie).first.map(name) == "file 3")
    }

    @Test func attributesAreReturnedOnRequest() throws {
        let entries = try vault.readDirectory(directory, after: 2, limit: 5, attributes: true)
        #expect(entries.allSatisfy { $0.attributes?.number == $0.item })
        #expect(
            fails("notDirectory") {
                _ = try vault.readDirectory(entries[0].item, after: 0, limit: 5, attributes: false)
            })
    }
}
