import CofferTestSupport
import CofferVault
import Foundation
import Testing

extension LiveMountTests {
    /// Programs write to an old version that they still have open: both versions stay.
    @Suite struct OutdatedVersionTests {
        /// The names other than `a`; they contain the day of the test.
        private func others(_ elsewhere: Elsewhere) throws -> [String] {
            try elsewhere.names().filter { $0 != "a" && $0 != "a.txt" }
        }

        @Test func dirtyPagesFromBeforeTheChange() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a.txt", "first version")
                let file = try Program.opens(mount.path("a.txt"))
                try Program.writes("LOCAL", to: file)
                try elsewhere.replaces("a.txt", with: "from elsewhere")
                #expect(try elsewhere.names() == ["a.txt"])
                #expect(try Program.reads(mount.path("a.txt")) == "from elsewhere")
                #expect(try Program.reads(file) == "LOCAL version")
                try Program.closes(file)
                mount.vault.awaitShown()
                let copy = try #require(try others(elsewhere).first)
                #expect(copy.hasPrefix("a (conflict, 20") && copy.hasSuffix(").txt"))
                #expect(try elsewhere.content(copy) == "LOCAL version")
                #expect(try elsewhere.content("a.txt") == "from elsewhere")
                #expect(try Program.lists(mount.path()) == [copy, "a.txt"].sorted())
                #expect(try Program.reads(mount.path(copy)) == "LOCAL version")
                #expect(try Program.status(mount.path(copy)).st_nlink == 1)
            }
        }

        @Test func dirtyPagesOfAMapping() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", String(repeating: "1", count: 4096))
                let file = try Program.opens(mount.path("a"))
                let memory = try #require(
                    mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
                try Program.closes(file)
                memory.storeBytes(of: UInt8(ascii: "L"), as: UInt8.self)
                try elsewhere.replaces("a", with: "2")
                memory.storeBytes(of: UInt8(ascii: "L"), toByteOffset: 1, as: UInt8.self)
                #expect(try Program.reads(mount.path("a")) == "2")
                #expect(msync(memory, 4096, MS_SYNC) == 0)
                munmap(memory, 4096)
                let copies = try others(elsewhere)
                #expect(copies.count == 1)
                #expect(try elsewhere.content(copies[0]).hasPrefix("LL1"))
                #expect(try elsewhere.content("a") == "2")
            }
        }

        @Test func writingGoesOnInTheCopy() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "1")
                let file = try Program.opens(mount.path("a"))
                try elsewhere.replaces("a", with: "2")
                try Program.writes("one", to: file)
                try Program.syncs(file)
                let copies = try others(elsewhere)
                #expect(copies.count == 1)
                #expect(try elsewhere.content(copies[0]) == "one")
                // Synced content survives a crash, under that name.
                let crashed = try mount.test.crashed(seed: 1).open()
                let number = try crashed.lookup(Array(copies[0].utf8), in: Vault.rootNumber).number
                #expect(try crashed.attributes(of: number).size == 3)
                try Program.writes(" more", to: file, at: 3)
                try Program.closes(file)
                #expect(try others(elsewhere) == copies)
                #expect(try elsewhere.content(copies[0]) == "one more")
                #expect(try elsewhere.content("a") == "2")
            }
        }

        @Test func cuttingCountsAsWriting() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "first")
                let file = try Program.opens(mount.path("a"))
                try elsewhere.replaces("a", with: "second")
                try Program.truncates(file, to: 2)
                #expect(try elsewhere.content(others(elsewhere)[0]) == "fi")
                try Program.closes(file)
                #expect(try elsewhere.content("a") == "second")
            }
        }

        @Test func attributesMakeNoCopy() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "first")
                let file = try Program.opens(mount.path("a"))
                try elsewhere.replaces("a", with: "second")
                #expect(fchmod(file, 0o600) == 0)
                #expect(try Program.reads(file) == "first")
                try Program.closes(file)
                #expect(try elsewhere.names() == ["a"])
                #expect(try Program.status(mount.path("a")).st_mode & 0o777 == 0o644)
            }
        }

        @Test func twoProgramsWithTwoVersions() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "1")
                let first = try Program.opens(mount.path("a"))
                try elsewhere.replaces("a", with: "2")
                let second = try Program.opens(mount.path("a"))
                try elsewhere.replaces("a", with: "3")
                for (file, text) in [(first, "one"), (second, "two")] {
                    try Program.writes(text, to: file)
                    try Program.closes(file)
                }
                let copies = try others(elsewhere)
                #expect(copies.count == 2)
                #expect(try copies.map { try elsewhere.content($0) } == ["one", "two"])
                #expect(try elsewhere.content("a") == "3")
            }
        }

        @Test func theDirectoryIsGone() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let directory = try elsewhere.makesDirectory("directory")
                try elsewhere.makes("a", "1", in: directory)
                let file = try Program.opens(mount.path("directory/a"))
                try elsewhere.replaces("a", in: directory, with: "2")
                try elsewhere.removes("a", in: directory)
                try elsewhere.removesDirectory("directory")
                try Program.writes("one", to: file)
                try Program.closes(file)
                #expect(try elsewhere.content(others(elsewhere)[0]) == "one")
            }
        }

        /// Before a merge, the pages that programs have written reach the vault.
        @Test func flushBringsDirtyPages() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let number = try elsewhere.makes("a", "first")
                let file = try Program.opens(mount.path("a"))
                try Program.writes("LOCAL", to: file)
                #expect(try elsewhere.content("a") == "first")
                mount.vault.flush(number)
                #expect(try elsewhere.content("a") == "LOCAL")
                try Program.closes(file)
            }
        }
    }
}
