import CofferVault
import Foundation
import Testing

/// All tests that mount in their own process, one after the other.
@Suite(.serialized, .enabled(if: LiveMount.isPossible, "takes /dev/fuse"), .timeLimit(.minutes(10)))
enum LiveMountTests {}

extension LiveMountTests {
    /// Names and attributes that change elsewhere, while the kernel caches them.
    @Suite struct RemoteEntryTests {
        @Test func aMissingNameAppears() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                #expect(throws: Failed(code: ENOENT)) { try Program.status(mount.path("a")) }
                try elsewhere.makes("a", "one")
                #expect(try Program.reads(mount.path("a")) == "one")
            }
        }

        @Test func aNameVanishes() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let number = try elsewhere.makes("a", "one")
                #expect(try Program.reads(mount.path("a")) == "one")
                try elsewhere.removes("a")
                #expect(throws: Failed(code: ENOENT)) { try Program.status(mount.path("a")) }
                #expect(try Program.lists(mount.path()) == [])
                #expect(mount.isGone(number))
            }
        }

        @Test func anOpenFileThatVanishesStaysReadable() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "one")
                let file = try Program.opens(mount.path("a"))
                try elsewhere.removes("a")
                #expect(throws: Failed(code: ENOENT)) { try Program.status(mount.path("a")) }
                #expect(try Program.reads(file) == "one")
                try Program.closes(file)
            }
        }

        @Test func aCachedListingIsReadAgain() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                for name in ["a", "b"] { try elsewhere.makes(name) }
                for _ in 0..<3 { #expect(try Program.lists(mount.path()) == ["a", "b"]) }
                try elsewhere.makes("c")
                #expect(try Program.lists(mount.path()) == ["a", "b", "c"])
                try elsewhere.removes("a")
                try elsewhere.moves("b", to: "d")
                #expect(try Program.lists(mount.path()) == ["c", "d"])
                #expect(try Program.status(mount.path()).st_nlink == 2)
                try elsewhere.makesDirectory("directory")
                try elsewhere.show([.attributes(item: Vault.rootNumber, elsewhere.name(""))])
                #expect(try Program.status(mount.path()).st_nlink == 3)
            }
        }

        @Test func aNameLeadsToAnotherFile() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "one")
                try elsewhere.makes("b", "other")
                #expect(try Program.reads(mount.path("a")) == "one")
                #expect(try Program.reads(mount.path("b")) == "other")
                try elsewhere.moves("a", to: "b")
                #expect(throws: Failed(code: ENOENT)) { try Program.status(mount.path("a")) }
                #expect(try Program.reads(mount.path("b")) == "one")
            }
        }

        @Test func permissionsChangeUnderAnOpenDescriptor() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let number = try elsewhere.makes("a", "one")
                let file = try Program.opens(mount.path("a"))
                #expect(try Program.status(file).st_mode & 0o777 == 0o644)
                var changes = AttributeChanges()
                changes.mode = 0o600
                _ = try mount.vault.setAttributes(of: number, changes)
                try elsewhere.show([.attributes(item: number, elsewhere.name("a"))])
                #expect(try Program.status(file).st_mode & 0o777 == 0o600)
                #expect(try Program.status(mount.path("a")).st_mode & 0o777 == 0o600)
                try Program.closes(file)
            }
        }

        /// The kernel keeps the times of a cached file, so it must drop the file.
        @Test func timesOfAClosedFile() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let number = try elsewhere.makes("a", "one")
                #expect(try Program.reads(mount.path("a")) == "one")
                var changes = AttributeChanges()
                changes.modified = .at(5_000_000_000)
                _ = try mount.vault.setAttributes(of: number, changes)
                try elsewhere.show([.attributes(item: number, elsewhere.name("a"))])
                #expect(try Program.status(mount.path("a")).st_mtim.tv_sec == 5)
            }
        }

        /// A name that is looked up while a program has the file open keeps it in the kernel, with its old times.
        @Test func timesOfAFileThatWasOpen() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let number = try elsewhere.makes("a", "one")
                let file = try Program.opens(mount.path("a"), O_RDONLY)
                var changes = AttributeChanges()
                changes.modified = .at(5_000_000_000)
                _ = try mount.vault.setAttributes(of: number, changes)
                try elsewhere.show([.attributes(item: number, elsewhere.name("a"))])
                #expect(try Program.status(mount.path("a")).st_mtim.tv_sec != 5)
                try Program.closes(file)
                #expect(
                    eventually { (try? Program.status(mount.path("a")))?.st_mtim.tv_sec == 5 })
                // Nothing is left to be tried.
                #expect(eventually { mount.outdatedCount == 0 })
            }
        }

        @Test func theWorkingDirectoryOfAProgramMoves() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let directory = try elsewhere.makesDirectory("old")
                try elsewhere.makes("file", "one", in: directory)
                let shell = try Child(
                    "/bin/sh",
                    ["-c", "cd \"$0\" && while read line; do eval \"$line\"; done", mount.path("old")])
                defer { shell.end() }
                try shell.says("cat file; echo")
                #expect(try shell.line() == "one")
                try elsewhere.moves("old", to: "new")
                try elsewhere.makes("more", "two", in: directory)
                try shell.says("cat file more; echo")
                #expect(try shell.line() == "onetwo")
                #expect(throws: Failed(code: ENOENT)) { try Program.status(mount.path("old")) }
                #expect(try Program.reads(mount.path("new/more")) == "two")
                try shell.says("/bin/pwd -P")
                #expect(try shell.line().hasSuffix("/vault/new"))
                // A change of its attributes does not move it.
                try elsewhere.show([.attributes(item: directory, elsewhere.name("new"))])
                try shell.says("/bin/pwd -P")
                #expect(try shell.line().hasSuffix("/vault/new"))
            }
        }

        @Test func itemsUnknownToTheKernel() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                let number = try elsewhere.makes("a", "one")
                try elsewhere.show([
                    .entry(elsewhere.name("nowhere")), .entry(elsewhere.name("x", in: 999)),
                    .attributes(item: 999, elsewhere.name("nowhere")),
                    .growth(item: 999, from: 0, elsewhere.name("nowhere")), .nameless(item: 999),
                    .growth(item: number, from: 0, elsewhere.name("a")),
                ])
                #expect(try Program.reads(mount.path("a")) == "one")
            }
        }
    }
}
