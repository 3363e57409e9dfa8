import Foundation
import Testing

extension MountTests {
    /// Commands, ends, and failures of a mount whose profile is locked.
    @Suite struct LockCommandTests {
        private static let message = "coffer: The profile is locked. Unlock it with: coffer unlock"

        private func lock(_ profile: MountedProfile) throws {
            try profile.command("lock", passphrase: false).succeed()
        }

        private func isLocked(_ profile: MountedProfile) throws -> Bool {
            try profile.command("status", passphrase: false).succeed().output.contains("\nLocked ")
        }

        @Test func commandsSayThatItIsLocked() throws {
            try withMountedProfile { profile in
                #expect(try !isLocked(profile))
                let text = try profile.command("unlock", passphrase: false).succeed().error
                #expect(text.contains("not locked"))
                try lock(profile)
                #expect(try isLocked(profile))
                try profile.command("status", "--exit-code", passphrase: false).fail(with: 75)
                for words in [
                    ["vault", "list"], ["remote", "list"], ["check"], ["sync"], ["vault", "create", "v"],
                ] {
                    var command = try profile.command(passphrase: false)
                    command.arguments = words + command.arguments
                    let result = try command.fail(with: 75)
                    #expect(result.error.contains(Self.message), "\(words): \(result.error)")
                }
                #expect(try profile.command("lock", passphrase: false).succeed().error.contains("already"))
                try profile.command("mount", "\(profile.base)/other").fail(with: 75)
                try profile.command("unlock").succeed()
                #expect(try profile.status().vaults.map(\.name) == ["Personal"])
            }
        }

        @Test func wrongPassphrasesCount() throws {
            try withMountedProfile { profile in
                try lock(profile)
                let wrong = "\(profile.base)/wrong"
                try Files.write("wrong", to: wrong)
                for attempt in 1...3 {
                    try profile.command("unlock", "--passphrase-file", wrong, passphrase: false).fail(
                        with: 77)
                    #expect(profile.attempts == attempt)
                }
                let result = try profile.command("unlock").fail(with: 75)
                #expect(result.error.contains("Too many wrong passphrases"))
                #expect(try isLocked(profile))
                #expect(Processes.waitUntil { (try? profile.command("unlock").run().status) == 0 })
                #expect(profile.attempts == 0)
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        @Test func unmountNeedsNoPassphrase() throws {
            try withMountedProfile { profile in
                try Files.write("text", to: profile.path("file"))
                try lock(profile)
                try profile.command("unmount", profile.point, passphrase: false).succeed()
                profile.expectEnded()
                try profile.command("lock", passphrase: false).fail(with: 72)
                try profile.mount()
                #expect(try Files.text(profile.path("file")) == "text")
            }
        }

        @Test(arguments: [SIGTERM, SIGKILL])
        func signalsEndALockedMount(signal: Int32) throws {
            try withMountedProfile { profile in
                let file = open(profile.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                defer { close(file) }
                try Files.append(pattern(100_000), to: file, "file")
                try lock(profile)
                if signal == SIGTERM {
                    #expect(kill(try #require(profile.process), signal) == 0)
                    profile.expectEnded()
                } else {
                    try profile.crash()
                }
                try profile.mount()
                #expect(try Files.read(profile.path("file")) == pattern(100_000))
                #expect(try profile.check().damage.isEmpty)
            }
        }

        /// What programs do counts; status does not.
        @Test func locksAfterATimeWithoutUse() throws {
            try withProfile(mounted: "lock-after=5s,lock-on-sleep") { profile in
                for index in 0..<30 {
                    // Each request begins the time anew.
                    try Files.write("text", to: profile.path("file-\(index)"))
                    usleep(200_000)
                }
                #expect(try Processes.waitUntil { try isLocked(profile) })
                #expect(try errorNumber { _ = try Files.read(profile.path("file-0")) } == ENOKEY)
                try profile.command("unlock").succeed()
                #expect(try Files.text(profile.path("file-29")) == "text")
                // The options are those of the first process.
                #expect(try Processes.waitUntil { try isLocked(profile) })
                try profile.command("unlock").succeed()
            }
        }

        @Test func mistakesInOptionsAreReported() throws {
            try withProfile(mounted: nil) { profile in
                for option in [
                    "lock-after=15", "lock-after=m", "lock-after=0s", "lock-after=-1h", "lock-after=",
                ] {
                    let result = try profile.command("mount", "-o", option, profile.point).fail(with: 64)
                    #expect(result.error.contains("lock-after=15m"), "\(option): \(result.error)")
                }
            }
        }

        @Test func mountInTheForegroundIsLocked() throws {
            try withProfile(mounted: nil) { profile in
                let child = try Child(try profile.command("mount", "--foreground", profile.point))
                #expect(Processes.waitUntil { Files.exists(profile.vault) })
                try profile.noteMounted()
                try Files.write("kept", to: profile.path("file"))
                for _ in 0..<3 {
                    try lock(profile)
                    try profile.command("unlock").succeed()
                    #expect(try Files.text(profile.path("file")) == "kept")
                }
                try profile.checkAtRest()
                try lock(profile)
                #expect(kill(child.process, SIGTERM) == 0)
                let result = try child.wait()
                #expect(result.status == 0 && !result.error.contains("coffer:"), "\(result.error)")
                profile.expectEnded()
            }
        }

        /// Also the process that continues a mount can tell that programs use it although it is not in its place.
        @Test func aDetachedMountIsReported() throws {
            try withMountedProfile { profile in
                let file = open(profile.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                try Files.append(pattern(1000), to: file, "file")
                try lock(profile)
                try profile.command("unlock").succeed()
                #expect(try profile.status().mountPoint == profile.point)
                try profile.command("unmount", "--lazy", profile.point, passphrase: false).succeed()
                let status = try profile.status()
                #expect(status.mountPoint == nil && status.detachedFrom == profile.point)
                #expect(try Files.read("/proc/self/fd/\(file)") == pattern(1000))
                close(file)
                profile.expectEnded()
            }
        }

        @Test func readOnlyMountIsLocked() throws {
            try withMountedProfile { profile in
                try Files.write("text", to: profile.path("file"))
                try profile.remount("ro")
                try lock(profile)
                #expect(try errorNumber { _ = try Files.read(profile.path("file")) } == ENOKEY)
                try profile.command("unlock").succeed()
                #expect(try Files.text(profile.path("file")) == "text")
                #expect(try errorNumber { try Files.write("x", to: profile.path("file")) } == EROFS)
            }
        }

        /// A store that cannot take the latest changes keeps the profile from being locked.
        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func fullDiskLosesNothing() throws {
            try LoopDisk.with(megabytes: 60) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    try Files.write("durable", to: profile.path("small"), durably: true)
                    try Files.write([UInt8](repeating: 7, count: 1 << 20), to: "\(disk)/room")
                    let ballast = open("\(disk)/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
                    defer { close(ballast) }
                    let path = profile.path("large")
                    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                    defer { close(file) }
                    let bytes = pattern(12 << 20)
                    var count = bytes.count
                    #expect(FullDisk.fill(by: ballast))
                    while count > 0, write(file, bytes, count) != count { count /= 2 }
                    #expect(count > 0)
                    let result = try profile.command("lock", passphrase: false).fail(with: 74)
                    #expect(result.error.contains("stays unlocked"), "\(result.error)")
                    #expect(try Files.read(path, count: count) == Array(bytes.prefix(count)))
                    #expect(try Files.text(profile.path("small")) == "durable")
                    try Files.check(ftruncate(ballast, 0), disk)
                    // The kernel does not write again by itself what it could not write once.
                    #expect(
                        Processes.waitUntil {
                            pwrite(file, bytes, bytes.count, 0) == bytes.count && fsync(file) == 0
                        })
                    try lock(profile)
                    try profile.command("unlock").succeed()
                    #expect(try Files.read(path) == bytes)
                }
            }
        }
    }
}
