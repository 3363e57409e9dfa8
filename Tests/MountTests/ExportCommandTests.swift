import CFilesystemCalls
import Foundation
import Testing

extension MountTests {
    /// `coffer vault export` and `coffer vault import`, on a mount and without one.
    @Suite struct ExportCommandTests {
        /// A passphrase file beside the profile.
        private static func passphrase(_ profile: MountedProfile) throws -> String {
            let path = "\(profile.base)/export-passphrase"
            if !Files.exists(path) { try Files.write("of the export\n", to: path) }
            return path
        }

        private static func exportCommand(
            _ profile: MountedProfile, to file: String, vault: String = "Personal"
        ) throws -> Command {
            try profile.command(
                "vault", "export", vault, file, "--strength", "interactive", "--export-passphrase-file",
                try passphrase(profile))
        }

        private static func importCommand(
            _ profile: MountedProfile, from file: String, as name: String = "Copy"
        ) throws -> Command {
            try profile.command(
                "vault", "import", file, name, "--export-passphrase-file", try passphrase(profile))
        }

        private static func fill(_ vault: String) throws {
            try Files.makeDirectory("\(vault)/folder", mode: 0o750)
            try Files.write(pattern(1_500_000), to: "\(vault)/folder/large")
            try Files.write("text", to: "\(vault)/small")
            #expect(link("\(vault)/small", "\(vault)/folder/link") == 0)
            #expect(symlink("../small", "\(vault)/folder/symlink") == 0)
            #expect(truncate("\(vault)/small", 1 << 30) == 0)
            #expect(linux_set_attribute("\(vault)/small", "user.a=b", "value", 5, 0) == 0)
            var times = [
                timespec(tv_sec: -5, tv_nsec: 123_456_789), timespec(tv_sec: -5, tv_nsec: 123_456_789),
            ]
            #expect(utimensat(AT_FDCWD, "\(vault)/folder", &times, 0) == 0)
        }

        private static func compare(_ copy: String) throws {
            var status = stat()
            #expect(lstat("\(copy)/folder", &status) == 0 && status.st_mode & 0o7777 == 0o750)
            #expect(status.st_mtim.tv_sec == -5 && status.st_mtim.tv_nsec == 123_456_789)
            #expect(try Files.read("\(copy)/folder/large") == pattern(1_500_000))
            #expect(lstat("\(copy)/folder/link", &status) == 0 && status.st_nlink == 2)
            #expect(status.st_size == 1 << 30 && status.st_blocks < 100)
            #expect(try Files.read("\(copy)/small", count: 6) == Array("text\0\0".utf8))
            #expect(
                try FileManager.default.destinationOfSymbolicLink(atPath: "\(copy)/folder/symlink")
                    == "../small")
            #expect(linux_get_attribute("\(copy)/small", "user.a=b", nil, 0) == 5)
        }

        @Test(arguments: [true, false]) func thereAndBack(isMounted: Bool) throws {
            try withMountedProfile { profile in
                try Self.fill(profile.vault)
                if !isMounted { try profile.unmount() }
                let file = "\(profile.base)/export"
                let exported = try Self.exportCommand(profile, to: file).succeed()
                #expect(exported.output.isEmpty && exported.error.contains("4 items"))
                var status = stat()
                #expect(lstat(file, &status) == 0 && status.st_mode == S_IFREG | 0o600)
                // What was there stays, and what was begun goes.
                let before = try Files.read(file)
                try Self.exportCommand(profile, to: file).fail(with: 73)
                #expect(try Files.read(file) == before)
                var again = try Self.exportCommand(profile, to: file)
                again.arguments.append("--force")
                try again.succeed()
                #expect(try Files.read(file) != before)
                try Self.exportCommand(profile, to: profile.base).fail(with: 73)
                try Self.exportCommand(profile, to: file + "2", vault: "None").fail(with: 66)
                #expect(
                    try Files.names(profile.base).filter { $0.hasPrefix(".coffer") || $0 == "export2" } == [])
                if isMounted { try Self.exportCommand(profile, to: profile.path("export")).fail(with: 73) }

                let report = try Self.importCommand(profile, from: file).succeed()
                #expect(report.error.contains("4 items"))
                try Self.importCommand(profile, from: file).fail(with: 73)
                #expect(try profile.command("vault", "list").succeed().lines == ["Personal", "Copy"])
                if !isMounted { try profile.mount() }
                try Self.compare("\(profile.point)/Copy")
                // The copy is a vault like any other.
                try Files.write("more", to: "\(profile.point)/Copy/more")
                try profile.remount()
                try Self.compare("\(profile.point)/Copy")
                #expect(try Files.text("\(profile.point)/Copy/more") == "more")
                try profile.command("check").succeed()
            }
        }

        /// Through pipes, and for an identity.
        @Test(arguments: [true, false]) func toACardThroughPipes(isMounted: Bool) throws {
            try withMountedProfile { profile in
                try Self.fill(profile.vault)
                let card = "\(profile.base)/card"
                try Files.write(try profile.command("identity", "show", "--card").succeed().output, to: card)
                if !isMounted { try profile.unmount() }
                var ends: [Int32] = [0, 0]
                try #require(pipe(&ends) == 0)
                var export = try profile.command("vault", "export", "Personal", "-", "--to", card)
                export.descriptors = [1: ends[1]]
                var importing = try profile.command("vault", "import", "-", "Copy")
                importing.descriptors = [0: ends[0]]
                if isMounted {
                    let sender = try Child(export)
                    close(ends[1])
                    let result = try importing.run()
                    #expect(result.status == 0, "\(result.error)")
                    #expect(try sender.wait().status == 0)
                } else {
                    // One command at a time has the profile.
                    let file = "\(profile.base)/export"
                    let number = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                    export.descriptors = [1: number]
                    try export.succeed()
                    #expect(lseek(number, 0, SEEK_SET) == 0)
                    importing.descriptors = [0: number]
                    try importing.succeed()
                    close(number)
                    close(ends[1])
                }
                close(ends[0])
                if !isMounted { try profile.mount() }
                try Self.compare("\(profile.point)/Copy")
            }
        }

        /// A stream that leads back to the mount is refused, also if the command does not see where it leads.
        @Test func intoTheMountItself() throws {
            try withMountedProfile { profile in
                try Self.fill(profile.vault)
                let inside = profile.path("inside")
                let number = open(inside, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                try #require(number >= 0)
                defer { close(number) }
                var export = try Self.exportCommand(profile, to: "-")
                export.descriptors = [1: number]
                #expect(try export.fail(with: 73).error.contains("\(inside) is in a mounted vault"))
                let file = "\(profile.base)/export"
                try Self.exportCommand(profile, to: file).succeed()
                try Files.write(try Files.read(file), to: inside)
                let result = try Self.importCommand(profile, from: inside).fail(with: 73)
                #expect(result.error.contains("\(inside) is in a mounted vault"))
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        @Test func messages() throws {
            try withProfile(mounted: nil) { profile in
                let file = "\(profile.base)/export"
                try Self.exportCommand(profile, to: file).succeed()
                let wrong = "\(profile.base)/wrong"
                try Files.write("wrong", to: wrong)
                let whole = try Files.read(file)
                func fail(_ bytes: [UInt8], _ status: Int32, _ words: String, passphrase: String? = nil)
                    throws
                {
                    try Files.write(bytes, to: file)
                    let path = try passphrase ?? Self.passphrase(profile)
                    let result = try profile.command(
                        "vault", "import", file, "Copy", "--export-passphrase-file", path
                    ).fail(with: status)
                    #expect(result.error.contains(words), "\(result.error)")
                    #expect(try Files.names("\(profile.home)/vaults").count == 1)
                }
                try fail(whole, 77, "passphrase is wrong", passphrase: wrong)
                try fail(Array(whole.dropLast(5)), 65, "is cut")
                try fail(Array(whole.prefix(50)), 65, "is cut")
                try fail(whole + [1], 65, "more bytes after the end")
                try fail(Array("a text, and no export".utf8), 65, "no export")
                try fail(try Files.read("\(profile.home)/profile"), 65, "no export")
                var damaged = whole
                damaged[whole.count - 1] ^= 1
                try fail(damaged, 65, "damaged from byte")
                try Files.write(whole, to: file)
                try profile.command(
                    "vault", "import", file, "a/b", "--export-passphrase-file", try Self.passphrase(profile)
                )
                .fail(with: 64)
                try Self.importCommand(profile, from: file).succeed()
            }
        }

        /// A read-only mount is exported, and gets no vault.
        @Test func onAReadOnlyMount() throws {
            try withMountedProfile { profile in
                try Self.fill(profile.vault)
                try profile.remount("ro")
                let file = "\(profile.base)/export"
                try Self.exportCommand(profile, to: file).succeed()
                for _ in 0..<5 {
                    let result = try Self.importCommand(profile, from: file).fail(with: 74)
                    #expect(result.error.contains("read-only"), "\(result.error)")
                }
                try profile.remount()
                try Self.importCommand(profile, from: file).succeed()
                try Self.compare("\(profile.point)/Copy")
            }
        }

        /// A disk that gets full during an import leaves no vault, and gets its space back.
        @Test func aFullDiskOfTheProfile() throws {
            let file = NSTemporaryDirectory() + "/coffer-export-\(UUID().uuidString)"
            defer { unlink(file) }
            try withMountedProfile { profile in
                try Files.write(pattern(60_000_000), to: profile.path("large"))
                try Self.exportCommand(profile, to: file).succeed()
            }
            try LoopDisk.with(megabytes: 48) { disk in
                try withProfile(mounted: nil, disk: disk) { profile in
                    let result = try Self.importCommand(profile, from: file).fail(with: 74)
                    #expect(result.error.contains("no space"))
                    #expect(try Files.names("\(profile.home)/vaults").count == 1)
                    #expect(try profile.command("vault", "list").succeed().lines == ["Personal"])
                }
            }
        }

        // MARK: Ends

        /// Feeds half an export to an import, and waits until it has begun.
        private static func beginImport(
            _ profile: MountedProfile, _ export: [UInt8]
        ) throws -> (child: Child, pipe: Int32) {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            #expect(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0)
            var command = try importCommand(profile, from: "-")
            command.descriptors = [0: ends[0]]
            let child = try Child(command)
            close(ends[0])
            try Files.append(Array(export.prefix(export.count / 2)), to: ends[1], "pipe")
            let hasBegun = Processes.waitUntil {
                (try? Files.names("\(profile.home)/vaults").contains { $0.hasSuffix(".importing") }) == true
            }
            try #require(hasBegun, "the import did not begin")
            return (child, ends[1])
        }

        private static func makeExport(_ profile: MountedProfile) throws -> [UInt8] {
            try fill(profile.vault)
            let file = "\(profile.base)/export"
            try exportCommand(profile, to: file).succeed()
            return try Files.read(file)
        }

        /// A command that is killed leaves a store that is no vault, and goes at the next start.
        @Test func killedWithoutAMount() throws {
            try withMountedProfile { profile in
                let export = try Self.makeExport(profile)
                try profile.unmount()
                let (child, pipe) = try Self.beginImport(profile, export)
                #expect(kill(child.process, SIGKILL) == 0)
                #expect(try child.wait().status == -SIGKILL)
                close(pipe)
                #expect(try Files.names("\(profile.home)/vaults").count == 3)
                #expect(try profile.command("vault", "list").succeed().lines == ["Personal"])
                #expect(try Files.names("\(profile.home)/vaults").count == 1)
                try Self.importCommand(profile, from: "\(profile.base)/export").succeed()
                try profile.mount()
                try Self.compare("\(profile.point)/Copy")
            }
        }

        /// With a mount, it is the mount that removes the store, whether the command is asked to end or killed.
        @Test(arguments: [SIGKILL, SIGINT]) func commandEndsWithAMount(signal: Int32) throws {
            try withMountedProfile { profile in
                let export = try Self.makeExport(profile)
                let (child, pipe) = try Self.beginImport(profile, export)
                #expect(kill(child.process, signal) == 0)
                #expect(try child.wait().status == -signal)
                let isGone = try Processes.waitUntil { try Files.names("\(profile.home)/vaults").count == 1 }
                #expect(isGone)
                close(pipe)
                #expect(try Files.names(profile.point) == ["Personal"])
                try Self.importCommand(profile, from: "\(profile.base)/export").succeed()
                try Self.compare("\(profile.point)/Copy")
            }
        }

        /// Ctrl-C ends an import without a mount, and leaves nothing.
        @Test func interruptedWithoutAMount() throws {
            try withMountedProfile { profile in
                let export = try Self.makeExport(profile)
                try profile.unmount()
                let (child, pipe) = try Self.beginImport(profile, export)
                #expect(kill(child.process, SIGINT) == 0)
                #expect(try child.wait().status == -SIGINT)
                close(pipe)
                #expect(try Files.names("\(profile.home)/vaults").count == 1)
                #expect(try profile.command("vault", "list").succeed().lines == ["Personal"])
            }
        }

        @Test func theMountIsKilled() throws {
            try withMountedProfile { profile in
                let export = try Self.makeExport(profile)
                let (child, pipe) = try Self.beginImport(profile, export)
                try profile.crash()
                #expect(try child.wait().status == 76)
                close(pipe)
                #expect(try Files.names("\(profile.home)/vaults").count == 3)
                try profile.mount()
                #expect(try Files.names("\(profile.home)/vaults").count == 1)
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        /// An export that is interrupted leaves no file.
        @Test(arguments: [true, false]) func interruptedExport(isMounted: Bool) throws {
            try withMountedProfile { profile in
                try Files.write(pattern(60_000_000), to: profile.path("large"))
                if !isMounted { try profile.unmount() }
                let child = try Child(try Self.exportCommand(profile, to: "\(profile.base)/export"))
                _ = try Processes.waitUntil {
                    try Files.names(profile.base).contains { $0.hasPrefix(".coffer-") || $0 == "export" }
                }
                kill(child.process, SIGINT)
                let status = try child.wait().status
                #expect(status == -SIGINT || status == 0)
                let names = try Files.names(profile.base)
                #expect(!names.contains { $0.hasPrefix(".coffer-") })
                #expect(names.contains("export") == (status == 0))
            }
        }

        /// A disk that gets full leaves a message, and no file.
        @Test func aFullDisk() throws {
            try withMountedProfile { profile in
                try Files.write(pattern(30_000_000), to: profile.path("large"))
                try LoopDisk.with(megabytes: 16) { disk in
                    let result = try Self.exportCommand(profile, to: "\(disk)/export").fail(with: 74)
                    #expect(result.error.contains("No space left"))
                    #expect(try Files.names(disk).filter { $0 != "lost+found" } == [])
                }
            }
        }
    }
}
