import Foundation
import Testing

extension MountTests {
    /// One profile, one process.
    @Suite struct LockTests {
        @Test func secondMountIsRefused() throws {
            try withMountedProfile { profile in
                let process = try #require(profile.process)
                let result = try profile.command("mount", "\(profile.base)/other").fail(with: 75)
                #expect(result.error.contains("\(process)"), "\(result.error)")
                #expect(result.error.contains(profile.point), "\(result.error)")
                #expect(Mounts.below(profile.base) == [profile.point])
            }
        }

        @Test func twoProfilesMountSideBySide() throws {
            try withMountedProfile { first in
                try withMountedProfile { second in
                    try Files.write("first", to: first.path("file"))
                    try Files.write("second", to: second.path("file"))
                    #expect(try Files.text(first.path("file")) == "first")
                    #expect(try Files.text(second.path("file")) == "second")
                }
            }
        }

        @Test func mountedTwiceAtOnePlaceIsRefused() throws {
            try withMountedProfile { first in
                try withProfile(mounted: nil) { second in
                    try second.command("mount", first.point).fail(with: 75)
                    #expect(Mounts.below(first.base) == [first.point])
                }
            }
        }

        /// Of two mounts that start at the same moment, one serves.
        @Test func simultaneousMounts() throws {
            try withProfile(mounted: nil) { profile in
                let mount = try profile.command("mount", profile.point)
                let children = try (0..<3).map { _ in try Child(mount) }
                let codes = try children.map { try $0.wait().status }.sorted()
                #expect(codes == [0, 75, 75])
                try profile.noteMounted()
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        @Test func profileIsFreeAfterUnmount() throws {
            try withMountedProfile { profile in
                try profile.unmount()
                try profile.command("vault", "create", "Alone").succeed()
                try profile.mount()
                #expect(try Files.names(profile.point) == ["Alone", "Personal"])
            }
        }
    }
}
