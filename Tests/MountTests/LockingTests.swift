import CofferCrypto
import CofferSystem
import CofferTrust
import Foundation
import Testing

@testable import CofferClient

extension MountTests {
    /// A profile that is locked while its mount stays, and unlocked again.
    @Suite struct LockingTests {
        private static let (name, content) = ("a name unlike all others", "a content unlike all others")

        private func lock(_ profile: MountedProfile) throws {
            let process = try #require(profile.process)
            try profile.command("lock", passphrase: false).succeed()
            #expect(try profile.lockNote().first == "\(process)", "another process serves the locked mount")
        }

        private func unlock(_ profile: MountedProfile) throws {
            try profile.command("unlock").succeed()
        }

        private func expectLocked(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            #expect(try errorNumber { _ = try Files.read(path) } == ENOKEY, sourceLocation: sourceLocation)
        }

        // MARK: Memory

        /// The keys of a profile that is not mounted, by names.
        private func keys(of profile: MountedProfile) throws -> [String: [UInt8]] {
            let location = ProfileLocation(path: profile.home)
            var passphrase = Array(MountedProfile.passphrase.utf8)
            let open = try Profile.unlock(
                location, try location.takeLock(), passphrase: SecretBytes(moving: &passphrase))
            var keys = ["the profile's key": open.copyKey().withBytes { $0.array }]
            for vault in open.vaults {
                keys["the vault's key"] = vault.keys[0].key.bytes.withBytes { $0.array }
                keys["the store's key"] = vault.store.bytes.withBytes { $0.array }
            }
            return keys
        }

        @Test(.enabled(if: Machine.isRoot, "the memory of another process can be read by root"))
        func memoryHoldsNothingOfTheVaults() throws {
            try withProfile(mounted: nil) { profile in
                var wanted = try keys(of: profile)
                (wanted["a name"], wanted["a content"]) = (Array(Self.name.utf8), Array(Self.content.utf8))
                let vault = "Vault unlike all others"
                wanted["a vault's name"] = Array(vault.utf8)
                try profile.mount()
                let process = try #require(profile.process)
                try Files.makeDirectory("\(profile.point)/\(vault)")
                // Long enough that a part of it stays in some buffer.
                let content = String(repeating: Self.content, count: 4000)
                try Files.write(content, to: profile.path(Self.name), durably: true)
                // The same search finds all of it as long as the profile is not locked.
                let present = try MemoryImage.found(wanted, in: process)
                #expect(present == Set(wanted.keys))
                try lock(profile)
                let left = try MemoryImage.found(wanted, in: process)
                #expect(left == [])
                // Nor does it keep what programs ask for meanwhile.
                try expectLocked(profile.path(Self.name))
                #expect(try MemoryImage.found(["a name": Array(Self.name.utf8)], in: process) == [])
                try unlock(profile)
                #expect(try Files.text(profile.path(Self.name)) == content)
                let back = try MemoryImage.found(wanted, in: process)
                #expect(back == Set(wanted.keys))
            }
        }

        // MARK: Programs

        @Test func openFilesGoOn() throws {
            try withMountedProfile { profile in
                let (path, gone) = (profile.path("open"), profile.path("gone"))
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                let unlinked = open(gone, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                defer {
                    close(file)
                    close(unlinked)
                }
                try Files.append(pattern(300_000), to: file, path)
                try Files.append(pattern(200_000, seed: 2), to: unlinked, gone)
                try Files.remove(gone)
                var before = stat()
                #expect(fstat(file, &before) == 0)
                try lock(profile)
                var byte: UInt8 = 0
                for descriptor in [file, unlinked] {
                    #expect(pread(descriptor, &byte, 1, 0) == -1 && errno == ENOKEY)
                    #expect(pwrite(descriptor, &byte, 1, 0) == -1 && errno == ENOKEY)
                }
                try expectLocked(path)
                try unlock(profile)
                var after = stat()
                #expect(fstat(file, &after) == 0)
                #expect(after.st_ino == before.st_ino && after.st_size == before.st_size)
                #expect(
                    after.st_mtim.tv_sec == before.st_mtim.tv_sec
                        && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
                #expect(try Files.read("/proc/self/fd/\(file)") == pattern(300_000))
                #expect(try Files.read("/proc/self/fd/\(unlinked)") == pattern(200_000, seed: 2))
                try Files.append([1, 2, 3], to: file, path)
                try Files.append([4, 5, 6], to: unlinked, gone)
                #expect(fsync(file) == 0 && fsync(unlinked) == 0)
                try lock(profile)
                try unlock(profile)
                #expect(try Files.read("/proc/self/fd/\(unlinked)") == pattern(200_000, seed: 2) + [4, 5, 6])
                close(unlinked)
                #expect(try Files.read(path) == pattern(300_000) + [1, 2, 3])
                #expect(try Files.names(profile.vault) == ["open"])
                // Once it is closed, an item without a name goes.
                #expect(
                    Processes.waitUntil { (try? profile.status().vaults.first?.contentBytes) == 300_003 })
            }
        }

        /// The kernel's answers, too: a listing, attributes, and names that it had cached.
        @Test func everythingIsRefused() throws {
            try withMountedProfile { profile in
                try Files.makeDirectory(profile.path("directory"))
                try Files.write("text", to: profile.path("directory/file"))
                let directory = open(profile.path("directory"), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                defer { close(directory) }
                #expect(try Files.names("/proc/self/fd/\(directory)") == ["file"])
                var status = stat()
                #expect(fstatat(directory, "none", &status, 0) == -1 && errno == ENOENT)
                try lock(profile)
                for name in ["file", "none", "."] {
                    #expect(fstatat(directory, name, &status, 0) == -1 && errno == ENOKEY, "\(name)")
                }
                #expect(fstat(directory, &status) == -1 && errno == ENOKEY)
                for path in [profile.vault, profile.path("directory/file"), "\(profile.point)/new"] {
                    #expect(stat(path, &status) == -1 && errno == ENOKEY, "\(path)")
                    #expect(mkdir(path, 0o755) == -1 && errno == ENOKEY, "\(path)")
                }
                let list = try Command("/bin/ls", [profile.point]).run()
                #expect(list.status != 0 && list.output == "")
                // What looks at the directory above does not see an error.
                #expect(stat(profile.point, &status) == 0 && status.st_ino == 1)
                var space = statvfs()
                #expect(statvfs(profile.point, &space) == 0 && space.f_blocks == 0)
                try Command("/bin/ls", ["-l", profile.base]).succeed()
                try unlock(profile)
                #expect(try Files.names("/proc/self/fd/\(directory)") == ["file"])
                #expect(try Files.text(profile.path("directory/file")) == "text")
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        /// A program that has mapped a file sees it no more, and sees it again afterwards.
        @Test(
            .enabled(if: Machine.has("python3"), "python3 is not installed"),
            arguments: ["SHARED", "PRIVATE"])
        func mappedFilesShowNothing(kind: String) throws {
            try withMountedProfile { profile in
                try Files.write(pattern(1 << 20), to: profile.path("mapped"), durably: true)
                let script = """
                    import mmap, os, sys, time
                    path, signs = sys.argv[1:]
                    file = os.open(path, os.O_RDWR)
                    map = mmap.mmap(file, 0, flags=mmap.MAP_\(kind))
                    print(sum(map[:]), flush=True)
                    for sign in ("one", "two"):
                        while not os.path.exists(signs + "/" + sign): time.sleep(0.01)
                        child = os.fork()
                        if child == 0:
                            sys.exit(0 if sum(map[:]) else 1)
                        print(os.waitpid(child, 0)[1], flush=True)
                    """
                let child = try Child(
                    Command(
                        try #require(Machine.path("python3")),
                        ["-c", script, profile.path("mapped"), profile.base]))
                try child.waitForLine("\n")
                try lock(profile)
                try Files.write("", to: "\(profile.base)/one")
                #expect(try child.waitForLines(2)[1] == "\(SIGBUS)")
                try unlock(profile)
                try Files.write("", to: "\(profile.base)/two")
                #expect(try child.waitForLines(3)[2] == "0")
                #expect(try child.wait().status == 0)
            }
        }

        /// Whatever a program has written before its first error is there afterwards.
        @Test func nothingOfAWriterIsLost() throws {
            try withMountedProfile { profile in
                for round in 0..<3 {
                    let path = profile.path("log-\(round)")
                    let script = """
                        i=0; exec 3>"$1"
                        while printf '%09d\\n' $i >&3; do i=$((i+1)); done 2>/dev/null
                        echo $i
                        """
                    let child = try Child(Command("/bin/sh", ["-c", script, "sh", path]))
                    #expect(Processes.waitUntil { ((try? Files.read(path)) ?? []).count > 20_000 })
                    try lock(profile)
                    let written = try #require(
                        Int(try child.wait().output.trimmingCharacters(in: .whitespacesAndNewlines)))
                    try unlock(profile)
                    let lines = try Files.text(path).split(separator: "\n")
                    #expect(lines.count == written)
                    #expect(lines.last.flatMap { Int($0) } == written - 1)
                }
            }
        }

        /// A shell that is in a vault is still there.
        @Test func workingDirectoryStays() throws {
            try withMountedProfile { profile in
                try Files.makeDirectory(profile.path("here"))
                try Files.write("text", to: profile.path("here/file"))
                let script = """
                    cd "$1"; echo ready
                    while [ ! -e "$2" ]; do sleep 0.02; done
                    /bin/pwd; cat file
                    """
                let child = try Child(
                    Command("/bin/sh", ["-c", script, "sh", profile.path("here"), "\(profile.base)/go"]))
                try child.waitForLine("ready")
                try lock(profile)
                try unlock(profile)
                try Files.write("", to: "\(profile.base)/go")
                #expect(try child.wait().lines == ["ready", profile.path("here"), "text"])
            }
        }

        @Test(
            .enabled(if: Machine.hasMountNamespaces, "a mount namespace of its own takes root and unshare(1)")
        )
        func copiesAreLocked() throws {
            try withMountedProfile { profile in
                try Files.write("text", to: profile.path("file"))
                let script = """
                    cat "$1"; echo; echo ready
                    while [ ! -e "$2" ]; do sleep 0.02; done
                    cat "$1" || echo refused
                    while [ ! -e "$3" ]; do sleep 0.02; done
                    cat "$1"
                    """
                let signs = ["\(profile.base)/one", "\(profile.base)/two"]
                let child = try Child(
                    Command(
                        try #require(Machine.path("unshare")),
                        ["--mount", "sh", "-c", script, "sh", profile.path("file")] + signs))
                // It has copies of all mounts, also of those of other tests.
                defer { kill(child.process, SIGKILL) }
                try child.waitForLine("ready")
                try lock(profile)
                try Files.write("", to: signs[0])
                try child.waitForLine("refused")
                try unlock(profile)
                try Files.write("", to: signs[1])
                #expect(try child.wait().lines == ["text", "ready", "refused", "text"])
            }
        }
    }
}
