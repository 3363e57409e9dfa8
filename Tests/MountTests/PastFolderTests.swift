import CFilesystemCalls
import Foundation
import Testing

extension MountTests {
    /// `.coffer/history` in a vault, as programs use it.
    @Suite struct PastFolderTests {
        private static let history = "Personal/.coffer/history"

        private func run(_ program: String, _ arguments: String...) throws -> Command.Result {
            try Command(try #require(Machine.path(program)), arguments).succeed()
        }

        /// Makes a tree of all kinds of items.
        private func makeTree(in vault: String) throws {
            let folder = "\(vault)/folder"
            try Files.makeDirectory(folder, mode: 0o751)
            try Files.makeDirectory("\(folder)/empty")
            try Files.makeDirectory("\(folder)/deep")
            try Files.write(pattern(3_000_000), to: "\(folder)/large")
            try Files.write("text\n", to: "\(folder)/deep/small")
            try Files.write("", to: "\(folder)/deep/nothing")
            chmod("\(folder)/deep/small", 0o4640)
            try Files.check(link("\(folder)/deep/small", "\(vault)/same"), "same")
            try Files.check(symlink("folder/large", "\(vault)/link"), "link")
            try Files.check(symlink("nowhere", "\(vault)/dangling"), "dangling")
            try Files.check(mkfifo("\(vault)/pipe", 0o600), "pipe")
            for index in 0..<300 { try Files.write("\(index)", to: "\(folder)/deep/file \(index)") }
            let sparse = open("\(folder)/sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(sparse) }
            try Files.check(pwrite(sparse, "start", 5, 0), "sparse")
            try Files.check(pwrite(sparse, "end", 3, 5_000_000), "sparse")
            try Files.check(ftruncate(sparse, 9_000_000), "sparse")
            try Files.check(linux_set_attribute("\(folder)/large", "user.colour", "blue", 4, 0), "large")
            try Files.check(linux_set_attribute(folder, "user.shape", "round", 5, 0), folder)
            if Machine.isRoot { try Files.check(chown("\(folder)/large", 12, 34), "large") }
            var times = [
                timespec(tv_sec: 1_000_000, tv_nsec: 5), timespec(tv_sec: 2_000_000, tv_nsec: 123_456_789),
            ]
            try Files.check(utimensat(AT_FDCWD, "\(folder)/deep/small", &times, 0), "small")
            try Files.check(utimensat(AT_FDCWD, "\(folder)/deep", &times, 0), "deep")
        }

        /// Changes, renames, and removes all of it.
        private func changeTree(in vault: String) throws {
            let folder = "\(vault)/folder"
            let large = open("\(folder)/large", O_RDWR | O_CLOEXEC)
            try Files.check(pwrite(large, "changed", 7, 1_000_000), "large")
            try Files.check(ftruncate(large, 2_000_000), "large")
            close(large)
            let sparse = open("\(folder)/sparse", O_RDWR | O_CLOEXEC)
            try Files.check(pwrite(sparse, "filled", 6, 7_000_000), "sparse")
            close(sparse)
            try Files.write("new text", to: "\(vault)/same")
            chmod("\(vault)/same", 0o600)
            try Files.remove("\(vault)/link")
            try Files.check(symlink("elsewhere", "\(vault)/link"), "link")
            try Files.check(linux_remove_attribute("\(folder)/large", "user.colour"), "large")
            try Files.check(linux_set_attribute(folder, "user.shape", "square", 6, 0), folder)
            try Files.removeDirectory("\(folder)/empty")
            try Files.write("a file now", to: "\(folder)/empty")
            for index in 0..<300 where index % 3 == 0 { try Files.remove("\(folder)/deep/file \(index)") }
            try Files.move("\(folder)/deep/file 1", to: "\(folder)/deep/file 2")
            try Files.move("\(folder)/deep", to: "\(vault)/moved")
            try Files.move(folder, to: "\(vault)/renamed")
        }

        /// Names and what stat(2) says of each item below a directory, without times of access and space.
        private func facts(_ path: String) throws -> String {
            let format = "%P|%y|%m|%n|%U|%G|%T@|%l|%s\n"
            let found = try run("find", path, "-mindepth", "1", "-printf", format).lines
            // The size of a directory is not the same everywhere.
            return found.map { line in
                let parts = line.split(separator: "|", omittingEmptySubsequences: false)
                return (parts.count > 1 && parts[1] == "d" ? parts.dropLast() : parts[...])
                    .enumerated().filter { !(parts[1] == "d" && $0.offset == 3) }.map { $0.element }
                    .joined(separator: "|")
            }.sorted().joined(separator: "\n")
        }

        @Test func programsReadATreeAsItWas() throws {
            try withMountedProfile { profile in
                let oracle = "\(profile.base)/oracle"
                try profile.command("vault", "set", "--history", "forever", "Personal").succeed()
                try makeTree(in: profile.vault)
                _ = try run("cp", "-a", profile.vault, oracle)
                // Makes the present state one that is kept.
                try profile.command("diff", "Personal", "--from", "0s").succeed()
                Thread.sleep(forTimeInterval: 1.1)
                let time = Date().ISO8601Format()
                Thread.sleep(forTimeInterval: 1.1)
                try changeTree(in: profile.vault)
                let past = "\(profile.point)/\(Self.history)/\(time)"
                try compare(past, with: oracle, in: profile)
                // Not for those who list the vault.
                #expect(
                    try Files.names(profile.vault) == [
                        "dangling", "link", "moved", "pipe", "renamed", "same",
                    ])
                #expect(!(try run("ls", "-A", profile.vault).output.contains(".coffer")))
                #expect(!(try run("find", profile.vault).output.contains(".coffer")))
                // The state from before is empty, and that of now is the present one.
                let states = try Files.names("\(profile.point)/\(Self.history)")
                #expect(
                    try states.first.map { try Files.names("\(profile.point)/\(Self.history)/\($0)") } == [])
                _ = try run(
                    "diff", "-r", "--no-dereference", "\(profile.vault)/renamed",
                    "\(profile.point)/\(Self.history)/now/renamed")
                #expect(!Files.exists("\(profile.point)/\(Self.history)/1999-01-01"))
                // A copy out of the past is an ordinary copy.
                _ = try run("cp", "-a", "\(past)/folder", "\(profile.vault)/folder")
                _ = try run("diff", "-r", "--no-dereference", "\(oracle)/folder", "\(profile.vault)/folder")
                // The same after a remount.
                try profile.remount()
                try compare(past, with: oracle, in: profile)
            }
        }

        private func compare(_ past: String, with oracle: String, in profile: MountedProfile) throws {
            try #expect(facts(past) == facts(oracle))
            // diff would wait for the FIFO.
            _ = try run("diff", "-r", "--no-dereference", "--exclude=pipe", oracle, past)
            let copy = "\(profile.base)/copy"
            _ = try run("cp", "-a", past, copy)
            _ = try run("diff", "-r", "--no-dereference", "--exclude=pipe", oracle, copy)
            try #expect(facts(copy) == facts(oracle))
            for name in ["user.colour", "user.shape"] {
                for path in ["folder", "folder/large"] {
                    #expect(
                        attribute(name, of: "\(copy)/\(path)") == attribute(name, of: "\(oracle)/\(path)"))
                    #expect(
                        attribute(name, of: "\(past)/\(path)") == attribute(name, of: "\(oracle)/\(path)"))
                }
            }
            _ = try run("rm", "-rf", copy)
            if Machine.has("rsync") {
                let arguments = ["-aHX", "--checksum", "-n", "-i", "--delete", "\(past)/", "\(oracle)/"]
                let rsync = try Command(try #require(Machine.path("rsync")), arguments).succeed()
                #expect(rsync.output == "", "\(rsync.output)")
            }
            try Files.makeDirectory(copy)
            _ = try run("tar", "-C", past, "--format=posix", "-cf", "\(profile.base)/tar", ".")
            _ = try run("tar", "-C", copy, "-xpf", "\(profile.base)/tar")
            _ = try run("diff", "-r", "--no-dereference", "--exclude=pipe", oracle, copy)
            try #expect(facts(copy) == facts(oracle))
            _ = try run("rm", "-rf", copy, "\(profile.base)/tar")
        }

        private func attribute(_ name: String, of path: String) -> String? {
            var value = [UInt8](repeating: 0, count: 100)
            let count = linux_get_attribute(path, name, &value, 100)
            return count < 0 ? nil : String(decoding: value.prefix(count), as: UTF8.self)
        }

        /// Needs rsync, so that the test above does not leave it out unseen.
        @Test(.enabled(if: Machine.has("rsync"), "compares with rsync"))
        func rsyncCopiesAndLeavesTheHiddenDirectoryOut() throws {
            try withMountedProfile { profile in
                try profile.command("vault", "set", "--history", "forever", "Personal").succeed()
                try Files.write("text", to: profile.path("file"))
                _ = try run("rsync", "-a", "\(profile.vault)/", "\(profile.base)/copy/")
                #expect(try Files.names("\(profile.base)/copy") == ["file"])
                _ = try run("rsync", "-a", "\(profile.vault)/.coffer/history/now/", "\(profile.base)/past/")
                #expect(try Files.names("\(profile.base)/past") == ["file"])
                // Emptying the vault by name of everything in it leaves the past alone.
                _ = try run("rm", "-rf", profile.path("file"))
                try Command(try #require(Machine.path("rm")), ["-rf", profile.path(".coffer")]).fail(with: 1)
                let names = try Files.names(profile.path(".coffer/history"))
                #expect(names.count == 2, "\(names)")
            }
        }

        @Test func turningTheHistoryOffWhileAProgramLooksAtIt() throws {
            try withMountedProfile { profile in
                let hidden = profile.path(".coffer")
                #expect(!Files.exists(hidden))
                try profile.command("vault", "set", "--history", "1w", "Personal").succeed()
                #expect(Files.exists(hidden))
                try Files.write("text", to: profile.path("file"))
                let file = open("\(hidden)/history/now/file", O_RDONLY | O_CLOEXEC)
                try Files.check(file, "file")
                defer { close(file) }
                try Files.write("changed", to: profile.path("file"))
                try profile.command("vault", "set", "--history", "none", "Personal").succeed()
                #expect(!Files.exists(hidden))
                var byte: UInt8 = 0
                #expect(pread(file, &byte, 1, 0) == -1 && errno == ESTALE)
            }
        }

        /// What the kernel knows of an entry of that name does not outlast the command.
        @Test func anEntryOfThatNameIsNotSeen() throws {
            try withMountedProfile { profile in
                let hidden = profile.path(".coffer")
                try Files.makeDirectory(hidden)
                #expect(try Files.names(profile.vault) == [".coffer"] && Files.names(hidden) == [])
                try profile.command("vault", "set", "--history", "1w", "Personal").succeed()
                #expect(try Files.names(profile.vault) == [] && Files.names(hidden) == ["history"])
                try profile.command("vault", "set", "--history", "2w", "Personal").succeed()
                try profile.command("vault", "set", "--history", "none", "Personal").succeed()
                #expect(try Files.names(profile.vault) == [".coffer"] && Files.names(hidden) == [])
                try Files.removeDirectory(hidden)
            }
        }

        @Test func deletingAVaultWhoseProgramsLookAtItsPast() throws {
            try withMountedProfile { profile in
                try profile.command("vault", "create", "Old").succeed()
                try profile.command("vault", "set", "--history", "1w", "Old").succeed()
                try Files.write("text", to: "\(profile.point)/Old/file")
                let now = "\(profile.point)/Old/.coffer/history/now"
                let directory = open(now, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                try Files.check(directory, now)
                defer { close(directory) }
                #expect(try Files.text("\(now)/file") == "text")
                try profile.command("vault", "delete", "--yes", "Old").succeed()
                #expect(openat(directory, "file", O_RDONLY | O_CLOEXEC) == -1 && errno == ESTALE)
                // As a directory of the root, too, once it is empty.
                try profile.command("vault", "create", "Older").succeed()
                try profile.command("vault", "set", "--history", "1w", "Older").succeed()
                let past = "\(profile.point)/Older/.coffer/history/now"
                let again = open(past, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                try Files.check(again, past)
                defer { close(again) }
                try Files.removeDirectory("\(profile.point)/Older")
                #expect(openat(again, "file", O_RDONLY | O_CLOEXEC) == -1 && errno == ESTALE)
            }
        }

        /// Open past files fail while the profile is locked, and after that; nothing else is disturbed.
        @Test func lockAndUnlock() throws {
            try withMountedProfile { profile in
                try profile.command("vault", "set", "--history", "1w", "Personal").succeed()
                try Files.write("text", to: profile.path("file"))
                let now = "\(profile.point)/\(Self.history)/now/file"
                let file = open(now, O_RDWR | O_CLOEXEC)
                try Files.check(file, "file")
                // The kernel keeps it until it is to store it.
                try Files.check(pwrite(file, "TEXT", 4, 0), "file")
                let kept = open(profile.path("file"), O_RDWR | O_CLOEXEC)
                try Files.write("changed", to: profile.path("file"))
                let directory = open("\(profile.point)/\(Self.history)", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                defer { close(directory) }
                try profile.command("lock", passphrase: false).succeed()
                #expect(!Files.exists(now))
                try profile.command("unlock").succeed()
                var byte: UInt8 = 0
                #expect(pread(file, &byte, 1, 0) == -1)
                close(file)
                try Files.check(pwrite(kept, "C", 1, 0), "file")
                close(kept)
                #expect(try Files.text(profile.path("file")) == "Changed")
                #expect(try Files.text(now) == "Changed")
                // A directory above the states is where it was.
                let again = openat(directory, "now/file", O_RDONLY | O_CLOEXEC)
                try Files.check(again, "file")
                close(again)
                #expect(try profile.status().problems.map(\.text) == [])
            }
        }

        /// What is only on the remote is fetched.
        @Test func evictedContentIsFetched() throws {
            try withMembers { members in
                let (alice, bob) = (members.alice, members.bob)
                let vault = try #require(bob.path("x").split(separator: "/").dropLast().last).description
                let bytes = pattern(3_000_000)
                try bob.profile.command("vault", "set", "--history", "1w", vault).succeed()
                try Files.write(bytes, to: alice.path("file"))
                try members.sync()
                #expect(try Files.read(bob.path("file")) == bytes)
                try bob.profile.command("diff", vault, "--from", "0s").succeed()
                let now = bob.path(".coffer/history/now/file")
                let file = open(now, O_RDONLY | O_CLOEXEC)
                try Files.check(file, now)
                defer { close(file) }
                try bob.profile.command("evict", vault).succeed()
                try Files.remove(bob.path("file"))
                var buffer = [UInt8](repeating: 0, count: bytes.count)
                var got = 0
                while got < bytes.count {
                    let count = buffer.withUnsafeMutableBytes {
                        pread(file, $0.baseAddress?.advanced(by: got), bytes.count - got, got)
                    }
                    try Files.check(count, now)
                    if count == 0 { break }
                    got += count
                }
                let isSame = buffer == bytes
                #expect(isSame)
            }
        }
    }
}
