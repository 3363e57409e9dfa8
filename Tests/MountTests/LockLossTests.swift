import Foundation
import Testing

extension MountTests {
    /// What only the kernel has when a profile is locked, and what nobody has any more.
    @Suite(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
    struct LockLossTests {
        private static let page = 4096

        private func lock(_ profile: MountedProfile) throws -> Command {
            try profile.command("lock", passphrase: false)
        }

        private func unlock(_ profile: MountedProfile) throws { try profile.command("unlock").succeed() }

        /// A file that is open, and the other files of the disk.
        private struct OnDisk {
            let profile: MountedProfile
            let disk: String
            let file: Int32

            /// Takes space until only so many bytes are free; nil for all that the file system gives at once.
            func fill(leaving free: Int?) throws {
                let ballast = open("\(disk)/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
                try Files.check(ballast, disk)
                defer { close(ballast) }
                if let free {
                    #expect(posix_fallocate(ballast, 0, FullDisk.freeBytes(disk) - free) == 0)
                } else {
                    #expect(FullDisk.fill(by: ballast))
                }
            }

            func makeRoom() throws { try Files.remove("\(disk)/ballast") }

            func writes(_ bytes: [UInt8], at offset: Int) -> Bool {
                pwrite(file, bytes, bytes.count, off_t(offset)) == bytes.count
            }

            /// What a program reads; nil where it gets an error.
            func reads(at offset: Int, count: Int) -> [UInt8]? {
                var bytes = [UInt8](repeating: 0, count: count)
                return pread(file, &bytes, count, off_t(offset)) == count ? bytes : nil
            }
        }

        private func withDisk(megabytes: Int, _ body: (OnDisk) throws -> Void) throws {
            try LoopDisk.with(megabytes: megabytes) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    profile.expectsProblems = true
                    let file = open(profile.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                    defer { close(file) }
                    try body(OnDisk(profile: profile, disk: disk, file: file))
                }
            }
        }

        /// What a page holds; no two are equal.
        private func content(_ page: Int) -> [UInt8] {
            var bytes = [UInt8](repeating: UInt8(page % 251), count: Self.page)
            for index in 0..<4 { bytes[index] = UInt8(truncatingIfNeeded: page >> (8 * index)) }
            return bytes
        }

        /// The kernel writes scattered pages one by one: the disk gets full long after the first of them.
        @Test func scatteredPagesAreAllWrittenBeforeOneIsDropped() throws {
            try withDisk(megabytes: 300) { disk in
                try disk.fill(leaving: 90 << 20)
                var numbers = SystemRandomNumberGenerator()
                // Every other one at most, so that no two are written together.
                let pages = Array(0..<26_000).shuffled(using: &numbers).prefix(25_000).map { $0 * 2 }
                var written: [Int] = []
                for page in pages {
                    guard disk.writes(content(page), at: page * Self.page) else { break }
                    written.append(page)
                }
                func lost() -> Int {
                    written.count { disk.reads(at: $0 * Self.page, count: Self.page) != content($0) }
                }
                let first = try lock(disk.profile).run()
                #expect(first.status == 74 && first.error.contains("stays unlocked"), "\(first.error)")
                #expect(lost() == 0, "of \(written.count)")
                try disk.makeRoom()
                try lock(disk.profile).succeed()
                try unlock(disk.profile)
                #expect(lost() == 0, "of \(written.count) after the lock")
                #expect(try disk.profile.check().damage.isEmpty)
            }
        }

        /// Writes a file that the disk has no room for, and drops the kernel's copy of some pages.
        ///
        /// - Returns: The number of pages, and those that the kernel has dropped.
        private func dropPages(_ disk: OnDisk) throws -> (count: Int, dropped: Range<Int>) {
            let count = 2048
            for page in 0..<count where !disk.writes(content(page), at: page * Self.page) {
                Issue.record("the kernel does not take page \(page)")
            }
            // All are refused, or stored, and none is dirty.
            #expect(fsync(disk.file) != 0)
            try lock(disk.profile).fail(with: 74)
            let dropped = count - 512..<count - 256
            let code = posix_fadvise(
                disk.file, off_t(dropped.lowerBound * Self.page), off_t(dropped.count * Self.page),
                POSIX_FADV_DONTNEED)
            #expect(code == 0)
            return (count, dropped)
        }

        /// The number of pages that programs do not read as they were written.
        private func wrongPages(_ disk: OnDisk, _ pages: some Sequence<Int>) -> Int {
            pages.count { disk.reads(at: $0 * Self.page, count: Self.page) != content($0) }
        }

        /// Where the kernel has dropped the only copy, waiting for it is in vain; the rest is stored all the same.
        @Test func pagesThatAreGoneKeepNothingUnlocked() throws {
            try withDisk(megabytes: 60) { disk in
                try FullDisk.fill(disk.disk, disk.profile)
                let (count, gone) = try dropPages(disk)
                try disk.makeRoom()
                let result = try lock(disk.profile).fail(with: 74)
                #expect(
                    result.error.contains("is locked, but changes of files (1) are lost"), "\(result.error)")
                try unlock(disk.profile)
                // What programs read there now is not what was written.
                #expect(wrongPages(disk, gone) == gone.count)
                #expect(wrongPages(disk, (0..<count).filter { !gone.contains($0) }) == 0)
                // It was told once.
                try lock(disk.profile).succeed()
                try unlock(disk.profile)
            }
        }

        /// A disk that is full to the last block makes the first commit take the reserve, and so most of the file is stored
        /// although the profile stays unlocked: a loss is told if there is one, and only then.
        @Test func aLossIsToldIfThereIsOne() throws {
            try withDisk(megabytes: 60) { disk in
                try disk.fill(leaving: nil)
                let (count, dropped) = try dropPages(disk)
                try disk.makeRoom()
                let result = try lock(disk.profile).run()
                try unlock(disk.profile)
                #expect(wrongPages(disk, (0..<count).filter { !dropped.contains($0) }) == 0)
                if wrongPages(disk, dropped) == 0 {
                    #expect(result.status == 0, "\(result.error)")
                } else {
                    #expect(result.status == 74 && result.error.contains("are lost"), "\(result.error)")
                }
            }
        }

        /// A vault that a disk error has stopped takes nothing any more, and must not keep the keys in memory.
        @Test(.enabled(if: Machine.has("python3"), "python3 is not installed"))
        func aStoppedVaultCanBeLocked() throws {
            try LoopDisk.with(megabytes: 60) { disk in
                try withProfile(mounted: nil) { profile in
                    profile.expectsProblems = true
                    // Only the vaults are on the disk that fails.
                    let vaults = "\(profile.home)/vaults"
                    for name in try Files.names(vaults) {
                        try Command("/bin/cp", ["-a", "\(vaults)/\(name)", disk]).succeed()
                    }
                    let mount = try #require(Machine.path("mount"))
                    try Command(mount, ["--bind", disk, vaults]).succeed()
                    defer { umount2(vaults, Int32(MNT_DETACH)) }
                    try profile.mount()
                    do {
                        let file = open(profile.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                        defer { close(file) }
                        #expect(fsync(file) == 0)
                        // FS_IOC_SHUTDOWN
                        let script = """
                            import fcntl, os, struct, sys
                            fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))
                            """
                        try Command(try #require(Machine.path("python3")), ["-c", script, disk]).succeed()
                        try Files.append(pattern(300_000), to: file, "file")
                        #expect(
                            Processes.waitUntil {
                                _ = fsync(file)
                                return (try? profile.status().vaults.first?.stopped) ?? nil != nil
                            })
                        try Files.append(pattern(300_000), to: file, "file")
                        let result = try lock(profile).fail(with: 74)
                        #expect(result.error.contains("The profile is locked, but"), "\(result.error)")
                        #expect(try errorNumber { _ = try Files.read(profile.path("file")) } == ENOKEY)
                    }
                    try profile.command("unmount", profile.point, passphrase: false).succeed()
                    #expect(umount2(vaults, Int32(MNT_DETACH)) == 0)
                    profile.expectEnded()
                }
            }
        }
    }
}
