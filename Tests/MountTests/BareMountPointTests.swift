import Foundation
import Testing

extension MountTests {
    /// Nothing is to be written beside the vaults by mistake: the bare mount point takes no writes.
    @Suite struct BareMountPointTests {
        private func write(_ profile: MountedProfile) throws -> Int32 {
            try errorNumber { try Files.write("lost", to: "\(profile.point)/file") }
        }

        @Test(.enabled(if: Machine.isRoot, "only root makes directories immutable"))
        func rootCannotWrite() throws {
            try withMountedProfile { profile in
                try profile.unmount()
                #expect(try write(profile) == EPERM)
                #expect(try errorNumber { try Files.makeDirectory("\(profile.point)/vault") } == EPERM)
                try profile.mount()
                #expect(try Files.names(profile.point) == ["Personal"])
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

        /// After a crash the place is protected too, once the dead mount is taken away.
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
