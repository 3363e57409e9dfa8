import Foundation
import Testing

extension MountTests {
    /// The bare mount point accepts no writes, so that nothing lands outside the vaults by mistake.
    @Suite struct BareMountPointTests {
        private func write(_ profile: MountedProfile) throws -> Int32 {
            try errorNumber { try Files.write("lost", to: "\(profile.point)/file") }
        }

        @Test(.enabled(if: Machine.isRoot, "only root makes directories immutable"))
        func rootCannotWrite() throws {
            try withProfile(mounted: nil) { profile in
                try Files.makeDirectory(profile.point)
                let first = try profile.command("mount", profile.point).succeed()
                try profile.noteMounted()
                // The mount that protects it says so, and the next mount does not.
                #expect(first.error.contains("chattr -i"))
                try profile.unmount()
                let second = try profile.command("mount", profile.point).succeed()
                try profile.noteMounted()
                #expect(!second.error.contains("chattr"))
                try profile.unmount()
                #expect(try write(profile) == EPERM)
                #expect(try errorNumber { try Files.makeDirectory("\(profile.point)/vault") } == EPERM)
                try profile.mount()
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        /// A mount point that a mount made belongs to root afterwards, whoever mounted there since.
        @Test(.enabled(if: Machine.isRoot, "only root makes directories immutable"))
        func mountPointIsGivenBackToRoot() throws {
            try withProfile(mounted: nil) { profile in
                for round in 1...2 {
                    let mount = try profile.command("mount", profile.point).succeed()
                    try profile.noteMounted()
                    #expect(mount.error.contains("created") == (round == 1))
                    #expect(!mount.error.contains("chattr"))
                    try profile.unmount()
                }
                #expect(try write(profile) == 0)
                try Files.remove("\(profile.point)/file")
                try Files.removeDirectory(profile.point)
            }
        }

        @Test(.enabled(if: !Machine.isRoot, "root is not stopped by permissions"))
        func ownerCannotWrite() throws {
            try withMountedProfile { profile in
                try profile.unmount()
                #expect(try write(profile) == EACCES)
            }
        }

        @Test func protectionCanBeLeftOut() throws {
            try withProfile(mounted: "noprotect") { profile in
                try profile.unmount()
                #expect(try write(profile) == 0)
                try Files.remove("\(profile.point)/file")
            }
        }

        /// After a crash the mount point is protected, too, once the dead mount is removed.
        @Test func protectedAfterACrash() throws {
            try withMountedProfile { profile in
                try profile.crash()
                try profile.command("unmount", profile.point).succeed()
                #expect(try write(profile) == (Machine.isRoot ? EPERM : EACCES))
            }
        }

        /// A mount that fails leaves an ordinary directory alone.
        @Test func wrongPassphraseLeavesTheDirectoryAlone() throws {
            try withProfile(mounted: nil) { profile in
                try Files.makeDirectory(profile.point)
                try Files.write("wrong", to: profile.passphraseFile)
                try profile.command("mount", profile.point).fail(with: 77)
                #expect(try write(profile) == 0)
            }
        }
    }
}
