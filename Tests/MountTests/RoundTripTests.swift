import Foundation
import Testing

extension MountTests {
    /// From `init` to the same bytes after a remount.
    @Suite struct RoundTripTests {
        /// Sizes around the limits between the ways of storing content.
        static let sizes = [0, 1, 100, 4095, 4096, 4097, 65_536, 131_073, 1 << 20, (3 << 20) + 17]

        @Test func filesOutliveTheMount() throws {
            try withMountedProfile { profile in
                for size in Self.sizes {
                    try Files.write(pattern(size, seed: UInt64(size)), to: profile.path("file-\(size)"))
                }
                try Files.makeDirectory(profile.path("Fotos ⛰️"))
                try Files.write("in it", to: profile.path("Fotos ⛰️/été.txt"))
                #expect(symlink("Fotos ⛰️", profile.path("link")) == 0)
                try profile.remount()
                for size in Self.sizes {
                    let bytes = try Files.read(profile.path("file-\(size)"))
                    #expect(bytes == pattern(size, seed: UInt64(size)), "\(size) bytes")
                }
                #expect(try Files.text(profile.path("link/été.txt")) == "in it")
            }
        }

        @Test func commandReturnsWhenTheMountServes() throws {
            try withProfile(mounted: nil) { profile in
                let mount = try profile.command("mount", profile.point)
                let result = try mount.succeed()
                // The command's output is closed, and the mount answers, without any wait.
                #expect(result.output == "")
                #expect(Mounts.below(profile.base) == [profile.point])
                #expect(try Files.names(profile.point) == ["Personal"])
                try profile.noteMounted()
            }
        }

        @Test func foregroundServesUntilItIsStopped() throws {
            try withProfile(mounted: nil) { profile in
                let child = try Child(try profile.command("mount", profile.point, "-f"))
                #expect(Processes.waitUntil { Files.exists(profile.vault) })
                try profile.noteMounted()
                #expect(profile.process == child.process)
                try Files.write("kept", to: profile.path("file"))
                try profile.command("unmount", profile.point).succeed()
                #expect(try child.wait().status == 0)
                profile.expectEnded()
                try profile.mount()
                #expect(try Files.text(profile.path("file")) == "kept")
            }
        }

        @Test func inodeNumbersOutliveTheMount() throws {
            try withMountedProfile { profile in
                try Files.write("x", to: profile.path("file"))
                var (before, after) = (stat(), stat())
                #expect(stat(profile.path("file"), &before) == 0)
                try profile.remount()
                #expect(stat(profile.path("file"), &after) == 0)
                #expect(before.st_ino == after.st_ino)
            }
        }

        /// A mount does not inherit the lock of the script that starts it; and the process
        /// that serves the mount has never seen the passphrase.
        @Test func inheritsNoDescriptors() throws {
            try withProfile(mounted: nil) { profile in
                let path = "\(profile.base)/held by a script"
                try Files.write("", to: path)
                let file = open(path, O_RDONLY | O_CLOEXEC)
                let secret = open(profile.passphraseFile, O_RDONLY | O_CLOEXEC)
                defer { close(file); close(secret) }
                var mount = try profile.command(
                    "mount", profile.point, "--passphrase-descriptor", "9", passphrase: false)
                mount.descriptors = [8: file, 9: secret]
                try mount.succeed()
                try profile.noteMounted()
                let open = try profile.descriptors()
                #expect(!open.contains(path))
                #expect(!open.contains(profile.passphraseFile))
            }
        }
    }
}
