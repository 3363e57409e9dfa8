import Foundation
import Testing

extension MountTests {
    /// Where vaults can be mounted, and what happens to the mount point.
    @Suite struct MountPointTests {
        private func mount(_ profile: MountedProfile, at point: String, _ options: String...) throws
            -> Command
        {
            var mount = try profile.command("mount", point)
            mount.arguments += options
            return mount
        }

        @Test func missingParentIsRefused() throws {
            try withProfile(mounted: nil) { profile in
                try mount(profile, at: "\(profile.base)/none/mount").fail(with: 72)
                #expect(!Files.exists("\(profile.base)/none"))
            }
        }

        @Test func missingMountPointIsMade() throws {
            try withProfile(mounted: nil) { profile in
                #expect(!Files.exists(profile.point))
                let result = try mount(profile, at: profile.point).succeed()
                try profile.noteMounted()
                #expect(result.error.contains(profile.point), "the user is told")
                #expect(Files.exists(profile.vault))
            }
        }

        /// The process in the background has another working directory.
        @Test(arguments: [false, true])
        func relativeHome(byEnvironment: Bool) throws {
            try withProfile(mounted: nil) { profile in
                let script =
                    byEnvironment
                    ? #"cd "$1" && COFFER_HOME=profile exec "$2" mount mount --passphrase-file "$3""#
                    : #"cd "$1" && exec "$2" mount mount --home profile --passphrase-file "$3""#
                try Command(
                    "/bin/sh",
                    ["-c", script, "sh", profile.base, try Programs.coffer(), profile.passphraseFile]
                ).succeed()
                try profile.noteMounted()
                try Files.makeDirectory("\(profile.point)/New")
                try Files.write("x", to: "\(profile.point)/New/file")
                #expect(try profile.status().vaults.allSatisfy { $0.storeBytes > 0 })
            }
        }

        @Test func fileIsRefused() throws {
            try withProfile(mounted: nil) { profile in
                try Files.write("mine", to: profile.point)
                try mount(profile, at: profile.point).fail(with: 72)
                #expect(try Files.text(profile.point) == "mine")
            }
        }

        @Test func fullDirectoryIsRefused() throws {
            try withProfile(mounted: nil) { profile in
                try Files.makeDirectory(profile.point)
                try Files.write("mine", to: "\(profile.point)/file")
                try mount(profile, at: profile.point).fail(with: 72)
                // Still an ordinary directory.
                try Files.write("more", to: "\(profile.point)/second")
                #expect(try Files.text("\(profile.point)/file") == "mine")
            }
        }

        /// Spaces, backslashes, umlauts: /proc/self/mountinfo writes some of them in octal.
        @Test(arguments: ["with space", "back\\slash", "tab\there", "Größe ✓", "-f"])
        func oddNames(name: String) throws {
            try withProfile(mounted: nil) { profile in
                let point = "\(profile.base)/\(name)"
                try mount(profile, at: point).succeed()
                try profile.noteMounted()
                #expect(try Files.names(point) == ["Personal"])
                try profile.command("unmount", point).succeed()
                profile.expectEnded()
                try profile.makeWritable(point)
            }
        }

        @Test func symbolicLinkLeadsToTheMountPoint() throws {
            try withProfile(mounted: nil) { profile in
                try Files.makeDirectory(profile.point)
                let link = "\(profile.base)/link"
                #expect(symlink(profile.point, link) == 0)
                try mount(profile, at: link).succeed()
                try profile.noteMounted()
                #expect(Mounts.below(profile.base) == [profile.point])
                try profile.command("unmount", link).succeed()
                profile.expectEnded()
            }
        }

        @Test func unknownOptionIsRefused() throws {
            try withProfile(mounted: nil) { profile in
                try mount(profile, at: profile.point, "-o", "ro,no_such_option").fail(with: 64)
                #expect(!Files.exists(profile.point))
            }
        }

        /// Set-user-id files and device nodes from a vault have no effect, unless root says otherwise.
        @Test func mountsHaveNoSetUserIDAndNoDevices() throws {
            try withMountedProfile { profile in
                let line = try Files.text("/proc/self/mounts").split(separator: "\n").first {
                    $0.contains(" \(profile.point) ")
                }
                let options = try #require(line?.split(separator: " ")[3]).split(separator: ",")
                #expect(options.contains("nosuid") && options.contains("nodev"), "\(options)")
            }
        }

        /// Options from mount(8) and fstab(5) are understood or ignored.
        @Test func optionsOfFstab() throws {
            try withProfile(mounted: nil) { profile in
                let options = "defaults,nofail,_netdev,x-systemd.automount,noatime,nosuid,nodev,noexec,rw"
                try mount(profile, at: profile.point, "-o", options).succeed()
                try profile.noteMounted()
                let line = try Files.text("/proc/self/mounts").split(separator: "\n").first {
                    $0.contains(" \(profile.point) ")
                }
                let found = try #require(line)
                for option in ["nosuid", "nodev", "noexec", "noatime"] {
                    #expect(found.contains(option), "\(found)")
                }
                #expect(found.hasPrefix("coffer "))
                #expect(found.contains(" fuse.coffer "))
            }
        }

        @Test func unmountOfNothing() throws {
            try withProfile(mounted: nil) { profile in
                try Files.makeDirectory(profile.point)
                try profile.command("unmount", profile.point).fail(with: 72)
                try profile.command("unmount", "\(profile.base)/none").fail(with: 72)
            }
        }
    }
}
