import CofferSystem
import CofferTestSupport
import Testing

import CofferVault

@Suite struct VaultTests {
    /// An inode number never leads to another item, since a program may remember it.
    @Test func numbersAreNotUsedTwiceAfterACrash() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        try vault.start()
        let lost = try vault.makeFile("lost")
        vault.stopUpkeep()
        let again = try test.crashed(seed: 1).open()
        #expect(try again.makeFile("other") > lost)
    }

    private let test: TestVault
    private let vault: Vault

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
    }

    @Test func aNewVaultHasAnEmptyRoot() throws {
        let root = try vault.attributes(of: Vault.rootNumber)
        #expect(root.type == .directory && root.links == 2 && root.user == TestVault.owner.user)
        #expect(try vault.names() == [])
        #expect(try vault.damage() == [])
    }

    @Test func aFileReadsAsWritten() throws {
        let number = try vault.makeFile("a", Array("hello".utf8))
        #expect(try vault.content(of: number) == Array("hello".utf8))
        #expect(try vault.get(number, at: 1, count: 3) == Array("ell".utf8))
        #expect(try vault.get(number, at: 4, count: 10) == Array("o".utf8))
        #expect(try vault.get(number, at: 5, count: 10) == [])
        #expect(try vault.attributes(of: number).size == 5)
    }

    @Test func truncationShortensAndExtendsWithZeros() throws {
        let number = try vault.makeFile("a", Array("hello".utf8))
        try vault.truncate(number, to: 2)
        try vault.truncate(number, to: 6)
        #expect(try vault.content(of: number) == Array("he".utf8) + [0, 0, 0, 0])
        #expect(try vault.attributes(of: number).allocated == 2)
    }

    @Test func aNameIsMadeOnce() throws {
        _ = try vault.makeFile("a")
        #expect(fails("alreadyExists") { _ = try vault.makeFile("a") })
        #expect(fails("alreadyExists") { _ = try vault.makeDirectory("a") })
        #expect(fails("notFound") { _ = try vault.number(of: "b") })
        #expect(fails("nameTooLong") { _ = try vault.makeFile(String(repeating: "x", count: 256)) })
        #expect(fails("invalidArgument") { _ = try vault.makeFile("a/b") })
        _ = try vault.makeFile(String(repeating: "x", count: 255))
    }

    @Test func linksCountAndTheLastOneEndsTheItem() throws {
        let number = try vault.makeFile("a", [1])
        #expect(try vault.link(number, as: Array("b".utf8), in: Vault.rootNumber).links == 2)
        #expect(try vault.unlink(Array("a".utf8), in: Vault.rootNumber) == (number, false))
        #expect(try vault.content(of: number) == [1])
        #expect(try vault.unlink(Array("b".utf8), in: Vault.rootNumber) == (number, true))
        #expect(try vault.content(of: number) == [1])
        vault.release(number)
        #expect(fails("stale") { _ = try vault.attributes(of: number) })
    }

    @Test func directoriesCountTheirDirectories() throws {
        let one = try vault.makeDirectory("one")
        let two = try vault.makeDirectory("two", in: one)
        #expect(try vault.attributes(of: one).links == 3)
        #expect(try vault.lookup(Array("..".utf8), in: two).number == one)
        #expect(
            fails("directoryNotEmpty") { try vault.removeDirectory(Array("one".utf8), in: Vault.rootNumber) })
        #expect(fails("isDirectory") { try vault.unlink(Array("one".utf8), in: Vault.rootNumber) })
        try vault.removeDirectory(Array("two".utf8), in: one)
        #expect(try vault.attributes(of: one).links == 2)
        try vault.removeDirectory(Array("one".utf8), in: Vault.rootNumber)
        #expect(try vault.attributes(of: Vault.rootNumber).links == 2)
    }

    @Test func renamingReplacesKeepsAndExchanges() throws {
        let a = try vault.makeFile("a", [1])
        let b = try vault.makeFile("b", [2])
        #expect(fails("alreadyExists") { _ = try vault.move("a", to: "b", mode: .keep) })
        #expect(try vault.move("a", to: "b", mode: .exchange) == nil)
        #expect(try vault.number(of: "a") == b)
        #expect(try vault.move("b", to: "a") == b)
        #expect(try vault.number(of: "a") == a)
        #expect(try vault.names() == ["a"])
    }

    @Test func aDirectoryDoesNotMoveIntoItself() throws {
        let one = try vault.makeDirectory("one")
        let two = try vault.makeDirectory("two", in: one)
        #expect(fails("invalidArgument") { _ = try vault.move("one", to: "x", into: two) })
        #expect(fails("invalidArgument") { _ = try vault.move("one", to: "two", into: one, mode: .exchange) })
        #expect(try vault.move("two", in: one, to: "two") == nil)
        #expect(try vault.lookup(Array("..".utf8), in: two).number == Vault.rootNumber)
        #expect(try vault.damage() == [])
    }

    @Test func everythingSurvivesReopening() throws {
        let directory = try vault.makeDirectory("directory")
        let file = try vault.makeFile("file", in: directory, Pattern.make(3_000_000))
        _ = try vault.create(
            Vault.NewItem(mode: 0o120777, target: Array("directory/file".utf8)), named: Array("link".utf8),
            in: Vault.rootNumber, by: TestVault.owner)
        try vault.setExtendedAttribute(Array("user.note".utf8), of: file, to: [1, 2], .create)
        let attributes = try vault.attributes(of: file)
        try vault.close()
        let again = try test.on(test.directory.copy()).open()
        #expect(try again.attributes(of: file) == attributes)
        #expect(try again.content(of: file) == Pattern.make(3_000_000))
        #expect(try again.readLink(try again.number(of: "link")) == Array("directory/file".utf8))
        #expect(try again.extendedAttribute(Array("user.note".utf8), of: file) == [1, 2])
        #expect(again.path(of: file) == "directory/file" && again.path(of: directory) == "directory")
        #expect(again.path(of: Vault.rootNumber) == "/")
        _ = try again.unlink(Array("file".utf8), in: directory)
        try again.commitWhole()
        #expect(again.path(of: file) == "item \(file)")
        #expect(try again.damage() == [])
    }

    @Test func aReadOnlyVaultChangesNothing() throws {
        let file = try vault.makeFile("a", [1])
        try vault.close()
        let copy = test.on(test.directory.copy())
        let again = try copy.open(isReadOnly: true)
        #expect(fails("readOnly") { _ = try again.makeFile("b") })
        #expect(fails("readOnly") { try again.put([2], to: file) })
        #expect(try again.content(of: file) == [1])
        #expect(try again.damage() == [])
    }
}
