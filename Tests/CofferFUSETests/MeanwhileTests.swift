import CofferFormat
import CofferSystem
import Foundation
import Testing

@testable import CofferVault

extension LiveMountTests {
    /// Calls of programs after a vault has changed and before the kernel knows.
    @Suite struct MeanwhileTests {
        @Test func aProgramMovesANameThatLeadsElsewhereByNow() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "one")
                try elsewhere.makes("b", "other")
                #expect(try Program.reads(mount.path("a")) == "one")
                try mount.vault.changeElsewhere { changes throws(FileSystemError) in
                    _ = try mount.vault.rename(
                        Array("b".utf8), in: Vault.rootNumber, to: Array("a".utf8), in: Vault.rootNumber,
                        .replace)
                    changes = [.entry(elsewhere.name("a")), .entry(elsewhere.name("b"))]
                    #expect(rename(mount.path("a"), mount.path("c")) == 0)
                }
                mount.vault.awaitShown()
                #expect(try elsewhere.content("c") == "other")
                #expect(try Program.reads(mount.path("c")) == "other")
                #expect(try Program.lists(mount.path()) == ["c"])
            }
        }

        /// While many names change from elsewhere, only programs that change names themselves wait.
        @Test func aProgramThatChangesNamesWaitsAlone() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makesDirectory("d")
                #expect(try Program.lists(mount.path("d")) == [])
                let (path, folder) = (mount.path("new"), mount.path("d"))
                let made = Condition(false)
                let seen = Condition(false)
                mount.vault.holdNames()
                let maker = try CofferSystem.Thread.start("maker") {
                    let file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
                    made.update { $0 = file >= 0 }
                    close(file)
                }
                let reader = try CofferSystem.Thread.start("reader") {
                    var status = stat()
                    for round in 0..<100 {
                        usleep(2_000)
                        _ = stat("\(folder)/\(round)", &status)
                    }
                    seen.update { $0 = true }
                }
                let wasSeen = seen.wait(nanoseconds: 90_000_000_000) { $0 ? true : nil }
                // Otherwise it may not have begun yet.
                let deadline = Clock.monotonic + 90_000_000_000
                while mount.handedOverCount == 0, Clock.monotonic < deadline { usleep(1_000) }
                let hasBegun = mount.handedOverCount > 0
                let wasMade = made.withLock { $0 }
                mount.vault.releaseNames()
                maker.join()
                reader.join()
                #expect(wasSeen == true)
                #expect(hasBegun)
                #expect(!wasMade)
                #expect(made.withLock { $0 })
                #expect(try elsewhere.names() == ["d", "new"])
            }
        }

        /// No FORGET will reach the vault for this item.
        @Test func aProgramRemovesAnItemUnknownToTheKernel() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("a", "one")
                let number = try elsewhere.makes("b", "other")
                let file = try Program.opens(mount.path("a"))
                try mount.vault.changeElsewhere { changes throws(FileSystemError) in
                    _ = try mount.vault.rename(
                        Array("b".utf8), in: Vault.rootNumber, to: Array("a".utf8), in: Vault.rootNumber,
                        .replace)
                    changes = [.entry(elsewhere.name("a")), .entry(elsewhere.name("b"))]
                    #expect(unlink(mount.path("a")) == 0)
                }
                mount.vault.awaitShown()
                #expect(try elsewhere.names() == [])
                #expect(mount.isGone(number))
                #expect(try Program.reads(file) == "one")
                try Program.closes(file)
            }
        }

        /// A program that does not insist on a new file gets the existing one.
        @Test func aProgramMakesAFileThatExistsByNow() throws {
            try LiveMount.run { mount in
                let elsewhere = Elsewhere(mount)
                #expect(throws: Failed(code: ENOENT)) { try Program.status(mount.path("a")) }
                try mount.vault.changeElsewhere { changes throws(FileSystemError) in
                    let item = try mount.vault.create(
                        Vault.NewItem(mode: 0o100600), named: Array("a".utf8), in: Vault.rootNumber,
                        by: Caller(user: getuid(), group: getgid(), umask: 0))
                    try elsewhere.append("theirs", to: item.number, at: 0)
                    changes = [.entry(elsewhere.name("a"))]
                    #expect(throws: Never.self) {
                        let file = try Program.opens(mount.path("a"), O_RDWR | O_CREAT)
                        #expect(try Program.reads(file) == "theirs")
                        try Program.closes(file)
                    }
                    #expect(throws: Failed(code: EEXIST)) {
                        try Program.opens(mount.path("a"), O_RDWR | O_CREAT | O_EXCL)
                    }
                }
                #expect(try Program.status(mount.path("a")).st_mode & 0o777 == 0o600)
            }
        }
    }
}
