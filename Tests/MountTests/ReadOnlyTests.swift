import CFilesystemCalls
import Foundation
import Testing

extension MountTests {
    /// Mounts with `-o ro`.
    @Suite struct ReadOnlyTests {
        @Test func nothingCanBeChanged() throws {
            try withMountedProfile { profile in
                try Files.write("text", to: profile.path("file"))
                try Files.makeDirectory(profile.path("directory"))
                try profile.remount("ro")
                let file = profile.path("file")
                #expect(try Files.text(file) == "text")
                let changes: [(String, () throws -> Void)] = [
                    ("create", { try Files.write("", to: profile.path("new")) }),
                    ("open for writing", { try Files.write("", to: file) }),
                    ("truncate", { try Files.check(truncate(file, 0), file) }),
                    ("unlink", { try Files.remove(file) }),
                    ("mkdir", { try Files.makeDirectory(profile.path("more")) }),
                    ("rmdir", { try Files.removeDirectory(profile.path("directory")) }),
                    ("rename", { try Files.move(file, to: profile.path("other")) }),
                    ("chmod", { try Files.check(chmod(file, 0o600), file) }),
                    ("setxattr", { try Files.check(linux_set_attribute(file, "user.a", "b", 1, 0), file) }),
                    ("symlink", { try Files.check(symlink("file", profile.path("link")), file) }),
                    ("link", { try Files.check(link(file, profile.path("hard")), file) }),
                    ("mkdir in the root", { try Files.makeDirectory("\(profile.point)/Vault") }),
                    ("rmdir in the root", { try Files.removeDirectory(profile.vault) }),
                ]
                for (name, change) in changes { #expect(try errorNumber(change) == EROFS, "\(name)") }
            }
        }

        /// Reading does not even change access times.
        @Test func storeStaysAsItIs() throws {
            try withMountedProfile { profile in
                try Files.write(pattern(100_000), to: profile.path("file"))
                try profile.unmount()
                let before = try store(profile)
                try profile.mount("ro")
                #expect(try Files.read(profile.path("file")) == pattern(100_000))
                #expect(try Files.names(profile.vault) == ["file"])
                try profile.unmount()
                #expect(try store(profile) == before)
            }
        }

        private func store(_ profile: MountedProfile) throws -> [String: [UInt8]] {
            var files: [String: [UInt8]] = [:]
            for path in try Files.all(below: "\(profile.home)/vaults") { files[path] = try Files.read(path) }
            return files
        }

        /// A crash leaves a log; a read-only mount reads it.
        @Test func readsAfterACrash() throws {
            try withMountedProfile { profile in
                try Files.write("durable", to: profile.path("file"), durably: true)
                try profile.crash()
                try profile.mount("ro")
                #expect(try Files.text(profile.path("file")) == "durable")
            }
        }

        @Test func commandsCannotChangeVaults() throws {
            try withProfile(mounted: "ro") { profile in
                for words in [
                    ["create", "New"], ["rename", "Personal", "Other"], ["delete", "Personal", "--yes"],
                ] {
                    var command = try profile.command("vault")
                    command.arguments.insert(contentsOf: words, at: 1)
                    #expect(try command.run().status != 0, "\(words)")
                }
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }
    }
}
