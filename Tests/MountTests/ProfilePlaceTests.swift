import Foundation
import Testing

extension MountTests {
    /// Where profiles, remotes and mount points lie, and what that allows.
    @Suite struct ProfilePlaceTests {
        /// A read-only disk takes no note, no count of attempts, and no log; what it holds can be read.
        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func aReadOnlyDiskCanBeRead() throws {
            try LoopDisk.with(megabytes: 30) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    try Files.write(pattern(3 << 20), to: profile.path("file"), durably: true)
                    try profile.unmount()
                    try LoopDisk.remount(disk, "ro")
                    #expect(try profile.command("vault", "list").succeed().output.contains("Personal"))
                    #expect(try profile.check().damage.isEmpty)
                    let refused = try profile.command("mount", profile.point).fail(with: 74)
                    #expect(refused.error.contains("-o ro"))
                    try profile.command("mount", "-o", "ro", profile.point).succeed()
                    #expect(try Files.read(profile.path("file")) == pattern(3 << 20))
                    #expect(try errorNumber { try Files.write("x", to: profile.path("x")) } == EROFS)
                    // Commands find the mount, although the lock says nothing of it.
                    #expect(try profile.status().mountPoint == profile.point)
                    try profile.command("mount", "-o", "ro", "\(profile.base)/other").fail(with: 75)
                    var unmount = Command(try Programs.coffer(), ["unmount", profile.point])
                    unmount.environment["COFFER_HOME"] = "\(profile.base)/none"
                    try unmount.succeed()
                    #expect(Mounts.below(profile.base) == [])
                    try LoopDisk.remount(disk, "rw")
                    try profile.mount()
                    #expect(try Files.read(profile.path("file")) == pattern(3 << 20))
                    try profile.command("unmount", profile.point, passphrase: false).succeed()
                    profile.expectEnded()
                }
            }
        }

        /// After a crash, the write-ahead log and the intent log are read where they are.
        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func aReadOnlyDiskCanBeReadAfterACrash() throws {
            try LoopDisk.with(megabytes: 30) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    for index in 0..<20 {
                        try Files.write("\(index)", to: profile.path("\(index)"), durably: true)
                    }
                    try Files.write("again", to: profile.path("0"), durably: true)
                    try profile.crash()
                    umount2(profile.point, Int32(MNT_DETACH))
                    try LoopDisk.remount(disk, "ro")
                    try profile.command("mount", "-o", "ro", profile.point).succeed()
                    for index in 1..<20 {
                        #expect(try Files.text(profile.path("\(index)")) == "\(index)")
                    }
                    #expect(try Files.text(profile.path("0")) == "again")
                    try profile.command("unmount", profile.point, passphrase: false).succeed()
                    try LoopDisk.remount(disk, "rw")
                }
            }
        }

        @Test func aMovedProfileIsNamed() throws {
            try withMountedProfile { profile in
                profile.expectsProblems = true
                let moved = "\(profile.base)/moved"
                #expect(rename(profile.home, moved) == 0)
                var create = Command(try Programs.coffer(), ["vault", "create", "New", "--home", moved])
                create.environment = profile.environment
                #expect(try create.fail(with: 66).error.contains("was moved away from \(profile.home)"))
                var status = create
                status.arguments = ["status", "--home", moved]
                #expect(try status.succeed().output.contains("was moved away from"))
                #expect(rename(moved, profile.home) == 0)
                try profile.command("vault", "create", "New").succeed()
                #expect(try profile.status().problems.isEmpty)
            }
        }

        /// A remote in a vault would make it grow without end.
        @Test func aRemoteInTheMountIsRefused() throws {
            try withMountedProfile { profile in
                let link = "\(profile.base)/link"
                #expect(symlink(profile.vault, link) == 0)
                try Files.makeDirectory(profile.path("there"))
                for path in ["\(profile.vault)/new/deep", profile.path("there"), "\(link)/r", profile.point] {
                    let refused = try profile.command("remote", "add", "Personal", path).fail(with: 73)
                    #expect(refused.error.contains("mounted at \(profile.point)"))
                }
                #expect(try Files.names(profile.vault) == ["there"])
                // Another profile's mount is no better.
                try withMountedProfile { other in
                    try other.command("remote", "add", "Personal", profile.path("there")).fail(with: 73)
                }
            }
        }

        @Test(.enabled(if: Machine.hasMountNamespaces, "mounting takes root"))
        func aRemoteBehindABindMountIsRefused() throws {
            try withMountedProfile { profile in
                try profile.withBindMount { other in
                    try profile.command("remote", "add", "Personal", "\(other)/r").fail(with: 73)
                }
            }
        }

        /// The device is named, not the mount point.
        @Test(.enabled(if: Machine.hasMountNamespaces, "mounting takes root"))
        func withoutAccessToFUSE() throws {
            try withProfile(mounted: nil) { profile in
                let script = """
                    mount --bind /dev/fuse /dev/fuse
                    mount -o remount,bind,nodev /dev/fuse
                    exec "$@"
                    """
                let mount = try profile.command("mount", "\(profile.base)/new")
                let words = ["--mount", "sh", "-euc", script, "sh", mount.program] + mount.arguments
                let refused = try Command(try #require(Machine.path("unshare")), words).fail(with: 69)
                #expect(refused.error.contains("/dev/fuse: Permission denied"))
                #expect(!Files.exists("\(profile.base)/new"))
            }
        }

        /// The wait is named before anybody types, and before a mount point is made.
        @Test func theWaitComesBeforeTheQuestion() throws {
            try withProfile(mounted: nil) { profile in
                for _ in 0..<3 {
                    var wrong = try profile.command("status", "--passphrase-file", "-", passphrase: false)
                    wrong.input = "wrong"
                    try wrong.fail(with: 77)
                }
                // Without a terminal, asking would fail with 64.
                let point = "\(profile.base)/new"
                for words in [["mount", point], ["status"], ["passphrase"]] {
                    var command = try profile.command(words[0], passphrase: false)
                    command.arguments += words.dropFirst()
                    let refused = try command.fail(with: 75)
                    #expect(refused.error.contains("Too many wrong passphrases"))
                }
                #expect(!Files.exists(point))
            }
        }
    }
}
