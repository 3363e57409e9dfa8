import CofferSystem
import CofferVault
import Foundation
import Testing

extension LiveMountTests {
    /// Files, closed or open, that get new content elsewhere.
    @Suite struct RemoteContentTests {
        @Test(arguments: ["", "2", "a longer second version"])
        func aClosedFile(content: String) throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let old = try elsewhere.makes("a", "first version")
                #expect(try Program.reads(mount.path("a")) == "first version")
                let new = try elsewhere.replaces("a", with: content)
                #expect(try Program.reads(mount.path("a")) == content)
                let status = try Program.status(mount.path("a"))
                #expect(status.st_size == content.utf8.count)
                #expect(status.st_ino == mount.inode(new))
                #expect(status.st_mtim.tv_sec == 1000)
                #expect(mount.isGone(old))
            }
        }

        @Test(arguments: ["", "2", "a longer second version"])
        func anOpenFileKeepsItsVersion(content: String) throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "first version")
                let cached = try Program.opens(mount.path("a"))
                #expect(try Program.reads(cached) == "first version")
                try elsewhere.replaces("a", with: content)
                #expect(try Program.reads(mount.path("a")) == content)
                #expect(try Program.reads(cached) == "first version")
                #expect(try Program.status(cached).st_size == 13)
                #expect(try Program.status(cached).st_nlink == 0)
                #expect(try Program.status(cached).st_ino != Program.status(mount.path("a")).st_ino)
                #expect(try Program.lists(mount.path()) == ["a"])
                try Program.closes(cached)
                #expect(try elsewhere.names() == ["a"])
            }
        }

        /// Pages that were not read before the change still come from the old version.
        @Test func uncachedPages() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", String(repeating: "1", count: 100_000))
                let file = try Program.opens(mount.path("a"), O_RDONLY)
                try elsewhere.replaces("a", with: String(repeating: "2", count: 90_000))
                #expect(try Program.reads(file, count: 200_000) == String(repeating: "1", count: 100_000))
                try Program.closes(file)
            }
        }

        @Test func severalTimes() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "0")
                var files: [Int32] = []
                for round in 1...5 {
                    files.append(try Program.opens(mount.path("a")))
                    try elsewhere.replaces("a", with: String(round))
                }
                #expect(try files.map { try Program.reads($0) } == ["0", "1", "2", "3", "4"])
                #expect(try Program.reads(mount.path("a")) == "5")
                for file in files { try Program.closes(file) }
            }
        }

        @Test func allNamesLeadToTheNewVersion() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let number = try elsewhere.makes("a", "one")
                try mount.vault.setExtendedAttribute(
                    Array("user.colour".utf8), of: number, to: Array("blue".utf8), .any)
                _ = try mount.vault.link(number, as: Array("b".utf8), in: Vault.rootNumber)
                try elsewhere.show([.entry(elsewhere.name("b"))])
                #expect(try Program.reads(mount.path("a")) == Program.reads(mount.path("b")))
                let new = try elsewhere.replaces("a", "b", with: "two")
                for name in ["a", "b"] {
                    #expect(try Program.reads(mount.path(name)) == "two")
                    #expect(try Program.status(mount.path(name)).st_ino == mount.inode(new))
                    #expect(try Program.status(mount.path(name)).st_nlink == 2)
                }
                let colour = try mount.vault.extendedAttribute(Array("user.colour".utf8), of: new)
                #expect(colour == Array("blue".utf8))
            }
        }

        @Test func tailFollowsTheName() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("log", "one\n")
                let tail = try Child("/usr/bin/tail", ["-s", "0.05", "-F", mount.path("log")])
                defer { tail.end() }
                #expect(try tail.line() == "one")
                try elsewhere.replaces("log", with: "two\n")
                #expect(try tail.line().contains("replaced"))
                #expect(try tail.line() == "two")
            }
        }

        @Test func tailFollowsAGrowingFile() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("log", "one\n")
                let tail = try Child("/usr/bin/tail", ["-s", "0.05", "-f", mount.path("log")])
                defer { tail.end() }
                #expect(try tail.line() == "one")
                var size = 4
                for round in 0..<20 {
                    let text = String(repeating: "\(round % 10)", count: 1000) + "\n"
                    try elsewhere.grows("log", by: text)
                    #expect(try tail.line() + "\n" == text)
                    size += 1001
                }
                #expect(try Program.status(mount.path("log")).st_size == size)
            }
        }

        /// The kernel forgets a file, and looks it up again, before it is told what was added.
        @Test func aFileThatIsLookedUpBeforeItsGrowthIsSeenHasItsOldEnd() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "one")
                try Program.closes(try Program.opens(mount.path("a"), O_RDONLY))
                let grown = try elsewhere.growsUnseen("a", by: "two")
                try elsewhere.forgets("a")
                #expect(mount.isForgotten(grown.number))
                let file = try Program.opens(mount.path("a"), O_RDONLY)
                #expect(try Program.status(file).st_size == 3)
                #expect(try Program.reads(file) == "one")
                try elsewhere.shows(grown, of: "a")
                #expect(try Program.status(file).st_size == 6)
                #expect(try Program.reads(file) == "onetwo")
                try Program.closes(file)
            }
        }

        /// No program keeps an old end for good, whenever it looks the file up.
        @Test func aFileThatIsForgottenAgainAndAgainShowsItsGrowth() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "0")
                var whole = "0"
                for round in 1..<200 {
                    let more = String(repeating: "\(round % 10)", count: 100)
                    let thread = try CofferSystem.Thread.start("elsewhere") {
                        try? elsewhere.grows("a", by: more)
                        try? elsewhere.forgets("a")
                    }
                    let before = whole.count
                    whole += more
                    var sizes: Set<Int> = []
                    for _ in 0..<5 {
                        let file = try Program.opens(mount.path("a"), O_RDONLY)
                        let text = try Program.reads(file)
                        sizes.insert(text.count)
                        #expect(whole.hasPrefix(text))
                        try Program.closes(file)
                    }
                    #expect(sizes.isSubset(of: [before, whole.count]))
                    thread.join()
                    mount.vault.awaitShown()
                    #expect(try Program.reads(mount.path("a")) == whole)
                }
            }
        }

        /// A program removes a file of which the kernel does not know all that it contains.
        @Test func aFileThatIsRemovedBeforeItsGrowthIsSeenStays() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "one")
                let file = try Program.opens(mount.path("a"), O_RDONLY)
                try elsewhere.growsUnseen("a", by: "two")
                #expect(unlink(mount.path("a")) == 0)
                mount.vault.awaitShown()
                // Looking the path up would tell the kernel.
                #expect(try Program.status(file).st_nlink == 1)
                #expect(try Program.status(mount.path("a")).st_nlink == 1)
                try Program.closes(file)
            }
        }

        @Test func aFileThatGrowsWithPagesCached() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let first = String(repeating: "1", count: 5000)
                try elsewhere.makes("a", first)
                let file = try Program.opens(mount.path("a"), O_RDONLY)
                #expect(try Program.reads(file) == first)
                let second = String(repeating: "2", count: 20_000)
                try elsewhere.grows("a", by: second)
                #expect(try Program.status(file).st_size == 25_000)
                #expect(try Program.reads(file) == first + second)
                try Program.closes(file)
                #expect(try Program.reads(mount.path("a")) == first + second)
            }
        }

        /// Missing content reads neither as zeros nor as the old end of the file.
        @Test(arguments: [4097, 5000])
        func aFileGrowsByUnreadableContent(size: Int) throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "one")
                let file = try Program.opens(mount.path("a"), O_RDONLY)
                #expect(try Program.reads(file) == "one")
                try elsewhere.growsUnreadably("a", to: UInt64(size))
                #expect(try Program.status(file).st_size == size)
                #expect(try Program.status(mount.path("a")).st_size == size)
                var byte: UInt8 = 0
                #expect(pread(file, &byte, 1, off_t(size - 1)) == -1)
                try Program.closes(file)
            }
        }
    }
}
