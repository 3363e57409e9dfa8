import Foundation
import Testing

extension MountTests {
    /// A profile that cannot be locked, or is locked all the same: nothing is lost that programs were not told of.
    @Suite struct LockFailureTests {
        private func lock(_ profile: MountedProfile, _ options: String...) throws -> Command {
            var command = try profile.command("lock", passphrase: false)
            command.arguments += options
            return command
        }

        private func unlock(_ profile: MountedProfile) throws { try profile.command("unlock").succeed() }

        // MARK: A full disk

        /// A file that programs have written and the disk cannot take.
        private struct Full {
            let profile: MountedProfile
            let file: Int32
            let ballast: Int32
            let bytes: [UInt8]
            func makeRoom() throws { try Files.check(ftruncate(ballast, 0), "ballast") }

            /// Expects that programs read all of it, if only from the kernel's memory.
            ///
            /// An expectation about a property would describe each byte of this value, which takes minutes.
            func expectComplete(sourceLocation: SourceLocation = #_sourceLocation) {
                let isComplete = (try? Files.read("/proc/self/fd/\(file)")) == bytes
                #expect(isComplete, sourceLocation: sourceLocation)
            }
        }

        private func withFullDisk(_ body: (Full) throws -> Void) throws {
            try LoopDisk.with(megabytes: 60) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    try Files.write("durable", to: profile.path("small"), durably: true)
                    let ballast = open("\(disk)/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
                    let file = open(profile.path("large"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                    defer {
                        close(ballast)
                        close(file)
                    }
                    #expect(FullDisk.fill(by: ballast))
                    // Until a write(2) is refused, the kernel takes more than the disk has room for.
                    var bytes: [UInt8] = []
                    let content = pattern(24 << 20)
                    let memory = mmap(nil, content.count, PROT_READ, MAP_SHARED, file, 0)
                    try #require(memory != MAP_FAILED)
                    defer { munmap(memory, content.count) }
                    while bytes.count < content.count {
                        let piece = Array(content[bytes.count..<bytes.count + 1 << 16])
                        if write(file, piece, piece.count) != piece.count { break }
                        // The kernel takes pages for clean that could not be stored, and may reclaim them at any time.
                        try Files.check(mlock(memory?.advanced(by: bytes.count), piece.count), "mlock")
                        bytes += piece
                    }
                    #expect(bytes.count > 0)
                    try body(Full(profile: profile, file: file, ballast: ballast, bytes: bytes))
                }
            }
        }

        /// The kernel tells of a failure once; the only copy must outlast a second attempt.
        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func whatCouldNotBeStoredIsNeverDropped() throws {
            try withFullDisk { full in
                var texts: [String] = []
                for _ in 0..<3 {
                    texts.append(try lock(full.profile).fail(with: 74).error)
                    full.expectComplete()
                }
                #expect(try Files.text(full.profile.path("small")) == "durable")
                #expect(texts.allSatisfy { $0.contains("stays unlocked") }, "\(texts)")
                #expect(texts[2].contains("changes of “Personal/large” could not be stored"), "\(texts)")
                try full.makeRoom()
                // From the only copy, without the program that wrote it.
                try lock(full.profile).succeed()
                try unlock(full.profile)
                full.expectComplete()
                try full.profile.checkAtRest()
            }
        }

        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func whatIsCutOffNeedNotBeStored() throws {
            try withFullDisk { full in
                try lock(full.profile).fail(with: 74)
                try full.makeRoom()
                #expect(Processes.waitUntil { ftruncate(full.file, 0) == 0 })
                try lock(full.profile).succeed()
                try unlock(full.profile)
                #expect(try Files.text(full.profile.path("small")) == "durable")
                #expect(try Files.read(full.profile.path("large")) == [])
                // The kernel tells each descriptor once of the writes that failed.
                let code = fsync(full.file) == 0 ? 0 : errno
                #expect(code == ENOSPC)
                #expect(pwrite(full.file, full.bytes, full.bytes.count, 0) == full.bytes.count)
                #expect(fsync(full.file) == 0)
                try lock(full.profile).succeed()
                try unlock(full.profile)
                full.expectComplete()
            }
        }

        /// With --force, only what the disk had no room for is lost.
        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func forceLocksAFullDisk() throws {
            try withFullDisk { full in
                try lock(full.profile).fail(with: 74)
                try lock(full.profile, "--force").succeed()
                #expect(try errorNumber { _ = try Files.read(full.profile.path("small")) } == ENOKEY)
                for _ in 0..<2 { #expect(fsync(full.file) != 0, "not all is stored") }
                try full.makeRoom()
                try unlock(full.profile)
                #expect(try Files.text(full.profile.path("small")) == "durable")
                #expect(try full.profile.check().damage.isEmpty)
            }
        }

        // MARK: Use

        /// A program whose requests pass the gate, since the kernel makes equal ones: it sets times without end.
        private final class Busy {
            private let child: Child

            init(_ path: String) throws {
                let script = """
                    import ctypes, os, sys, time
                    libc = ctypes.CDLL(None, use_errno=True)
                    times = (ctypes.c_long * 4)(0, 0x3ffffffe, 5, 0)
                    file = os.open(sys.argv[1], os.O_RDWR)
                    print("ready", flush=True)
                    while True:
                        if libc.futimens(file, times) != 0: time.sleep(0.01)
                    """
                child = try Child(
                    Command(try #require(Machine.path("python3")), ["-c", script, path]))
                try child.waitForLine("ready")
            }

            func end() throws {
                kill(child.process, SIGKILL)
                _ = try child.wait()
            }
        }

        @Test(.enabled(if: Machine.has("python3"), "python3 is not installed"))
        func aProfileInUseStaysUnlocked() throws {
            try withMountedProfile { profile in
                try Files.write("text", to: profile.path("file"), durably: true)
                let busy = try Busy(profile.path("file"))
                let result = try lock(profile).fail(with: 75)
                #expect(result.error.contains("keep writing"), "\(result.error)")
                #expect(try Files.text(profile.path("file")) == "text")
                try Files.write("more", to: profile.path("more"))
                try lock(profile, "--force").succeed()
                #expect(try errorNumber { _ = try Files.read(profile.path("file")) } == ENOKEY)
                try busy.end()
                try unlock(profile)
                #expect(try Files.text(profile.path("more")) == "more")
            }
        }

        /// An unlinked file that its program closes while the profile is locked goes with the unlock.
        @Test func filesClosedMeanwhileAreFreed() throws {
            try withMountedProfile { profile in
                let path = profile.path("gone")
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                let kept = open(profile.path("kept"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                defer { close(kept) }
                try Files.append(pattern(300_000), to: file, path)
                try Files.append(pattern(1000), to: kept, "kept")
                try Files.remove(path)
                try Files.remove(profile.path("kept"))
                try lock(profile).succeed()
                close(file)
                try unlock(profile)
                #expect(
                    Processes.waitUntil { (try? profile.status().vaults.first?.contentBytes) == 1000 })
                #expect(try Files.read("/proc/self/fd/\(kept)") == pattern(1000))
            }
        }

        // MARK: Ends

        /// A program that stores into a mapping of a file without end, until the file cannot be read any more.
        private func storing(_ path: String) throws -> Child {
            let script = """
                import mmap, os, sys
                file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
                os.ftruncate(file, 1 << 20)
                map = mmap.mmap(file, 1 << 20)
                print("ready", flush=True)
                while True:
                    for page in range(256): map[page * 4096] = (map[page * 4096] + 1) % 256
                """
            let child = try Child(Command(try #require(Machine.path("python3")), ["-c", script, path]))
            try child.waitForLine("ready")
            return child
        }

        /// The mount ends, whichever of the two processes the signal meets.
        @Test(.enabled(if: Machine.has("python3"), "python3 is not installed"), arguments: [SIGTERM, SIGINT])
        func aSignalDuringALockEndsTheMount(signal: Int32) throws {
            for round in 0..<4 {
                try withProfile(mounted: nil) { profile in
                    try profile.mount()
                    try Files.write(pattern(200_000), to: profile.path("file"))
                    let process = try #require(profile.process)
                    // Then the mount is detached, and ends after the grace period.
                    let program = signal == SIGTERM && round > 0 ? try storing(profile.path("mapped")) : nil
                    let child = try Child(try lock(profile))
                    usleep(UInt32(round) * 90_000)
                    #expect(kill(process, signal) == 0)
                    _ = try child.wait()
                    profile.expectEnded()
                    if let program {
                        kill(program.process, SIGKILL)
                        _ = try program.wait()
                    }
                    try profile.mount()
                    #expect(try Files.read(profile.path("file")) == pattern(200_000))
                    try profile.unmount()
                }
            }
        }

        @Test func anUnmountDuringALockEndsTheMount() throws {
            for round in 0..<4 {
                try withProfile(mounted: nil) { profile in
                    try profile.mount()
                    try Files.write(pattern(200_000), to: profile.path("file"))
                    let child = try Child(try lock(profile))
                    usleep(UInt32(round) * 90_000)
                    // Whoever is second may have to try again.
                    #expect(
                        try Processes.waitUntil {
                            let command = try profile.command("unmount", profile.point, passphrase: false)
                            return try command.run().status == 0 || Mounts.below(profile.base) == []
                        })
                    _ = try child.wait()
                    profile.expectEnded()
                    try profile.mount()
                    #expect(try Files.read(profile.path("file")) == pattern(200_000))
                    try profile.unmount()
                }
            }
        }

        /// The kernel does not tell the process of an unmount as long as there is a copy, so it must be asked to end,
        /// whichever of the two it is.
        @Test(.enabled(if: Machine.isRoot, "a bind mount takes root"))
        func anUnmountDuringALockEndsTheMountWithItsCopies() throws {
            for round in 0..<4 {
                try withProfile(mounted: nil) { profile in
                    try profile.mount()
                    try profile.withBindMount { _ in
                        let child = try Child(try lock(profile))
                        usleep(UInt32(round) * 80_000)
                        #expect(
                            try Processes.waitUntil {
                                let command = try profile.command("unmount", profile.point, passphrase: false)
                                return try command.run().status == 0
                            })
                        _ = try child.wait()
                    }
                    profile.expectEnded()
                }
            }
        }

        /// What another namespace has of the mount is locked, also if the original is gone.
        @Test(
            .enabled(if: Machine.hasMountNamespaces, "a mount namespace of its own takes root and unshare(1)")
        )
        func copiesWithoutTheOriginalAreLocked() throws {
            try withMountedProfile { profile in
                let script = """
                    exec 3>>"$1"; printf text >&3; cat "$1"; echo; echo ready
                    while [ ! -e "$2" ]; do sleep 0.02; done
                    cat "$1" || echo refused
                    while [ ! -e "$3" ]; do sleep 0.02; done
                    cat "$1"; echo; echo back
                    while [ ! -e "$4" ]; do sleep 0.02; done
                    """
                let signs = (1...3).map { "\(profile.base)/\($0)" }
                let child = try Child(
                    Command(
                        try #require(Machine.path("unshare")),
                        ["--mount", "sh", "-c", script, "sh", profile.path("file")] + signs))
                // It has copies of all mounts, also of those of other tests.
                defer { kill(child.process, SIGKILL) }
                try child.waitForLine("ready")
                #expect(umount2(profile.point, 0) == 0)
                for round in 0..<2 {
                    try lock(profile).succeed()
                    if round == 0 {
                        try Files.write("", to: signs[0])
                        try child.waitForLine("refused")
                    }
                    try unlock(profile)
                }
                try Files.write("", to: signs[1])
                try child.waitForLine("back")
                try Files.write("", to: signs[2])
                #expect(try child.wait().lines == ["text", "ready", "refused", "text", "back"])
                profile.expectEnded()
                try profile.mount()
                #expect(try Files.text(profile.path("file")) == "text")
            }
        }

        // MARK: Sharing

        @Test func aSharedVaultSyncsAfterTheUnlock() throws {
            try withMembers { members in
                try Files.write("one", to: members.alice.path("file"))
                try members.sync()
                members.expect("one", in: "file")
                try Files.write(pattern(3 << 20), to: members.alice.path("large"))
                try members.alice.coffer("lock").succeed()
                #expect(try errorNumber { _ = try Files.read(members.alice.path("file")) } == ENOKEY)
                let refused = try members.alice.coffer("sync", "Plans").fail(with: 75)
                #expect(refused.error.contains("locked"))
                try Files.write("two", to: members.bob.path("file"))
                try members.bob.sync()
                try unlock(members.alice.profile)
                try members.sync()
                members.expect("two", in: "file")
                members.expect(pattern(3 << 20), in: "large")
            }
        }
    }
}
