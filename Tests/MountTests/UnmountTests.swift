import Foundation
import Testing

extension MountTests {
    /// Unmounting by the folder alone, without the profile that it belongs to.
    @Suite struct UnmountTests {
        /// `coffer unmount` as a user types it whose default profile is another one, or does not exist.
        private func unmount(
            _ profile: MountedProfile, _ words: String..., home: String? = nil
        ) throws -> Command {
            var command = Command(try Programs.coffer(), ["unmount", profile.point] + words)
            command.environment = profile.environment
            command.environment["COFFER_HOME"] = home ?? "\(profile.base)/none"
            return command
        }

        /// Opens a file of a vault, so that the mount is in use.
        private func hold(_ path: String) throws -> Int32 {
            let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try Files.check(file, path)
            return file
        }

        @Test func theFolderLeadsToTheProfile() throws {
            try withMountedProfile { profile in
                try Files.write(pattern(3 << 20), to: profile.path("file"))
                let lock = open("\(profile.home)/lock", O_RDWR | O_CLOEXEC)
                try Files.check(lock, "lock")
                defer { close(lock) }
                try unmount(profile).succeed()
                // The command has waited for the process, which holds the lock until everything is stored.
                #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
                flock(lock, LOCK_UN)
                profile.expectEnded()
                try profile.mount()
                #expect(try Files.read(profile.path("file")) == pattern(3 << 20))
            }
        }

        @Test func theGivenProfileDoesNotDecide() throws {
            try withMountedProfile { first in
                try withMountedProfile { second in
                    try unmount(second, home: first.home).succeed()
                    second.expectEnded()
                    #expect(try first.status().mountPoint == first.point)
                }
            }
        }

        @Test(.enabled(if: Machine.hasLoopDevices, "an ext4 of its own takes root and loop devices"))
        func nothingIsLostOnAFullDisk() throws {
            try LoopDisk.with(megabytes: 64) { disk in
                try withProfile(mounted: "rw", disk: disk) { profile in
                    try FullDisk.remove(300, of: 400, on: disk, profile)
                    let refused = try unmount(profile).fail(with: 74)
                    #expect(refused.error.contains("stays mounted"))
                    #expect(try Files.names(profile.vault).count == 100)
                    try Files.remove("\(disk)/ballast")
                    try profile.remount()
                    #expect(try Files.names(profile.vault).count == 100)
                }
            }
        }

        @Test func aDetachedMountIsFoundAgain() throws {
            try withMountedProfile { profile in
                let file = try hold(profile.path("open"))
                defer { close(file) }
                try unmount(profile, "--lazy").succeed()
                let status = try profile.status()
                #expect(status.mountPoint == nil && status.detachedFrom == profile.point)
                for words in [[], ["--lazy"]] {
                    var again = try unmount(profile)
                    again.arguments += words
                    let refused = try again.fail(with: 75)
                    #expect(refused.error.contains("--force"))
                }
                let text = Array("late".utf8)
                #expect(write(file, text, text.count) == text.count)
                try unmount(profile, "--force").succeed()
                profile.expectEnded()
                try profile.mount()
                #expect(try Files.names(profile.vault) == ["open"])
            }
        }

        /// The mount on top belongs to the second profile, though the lock of the first one names the place, too.
        @Test func aDetachedMountDoesNotStandForTheNext() throws {
            try withMountedProfile { first in
                try withProfile(mounted: nil) { second in
                    let file = try hold(first.path("open"))
                    defer { close(file) }
                    try unmount(first, "--lazy").succeed()
                    try second.command("mount", first.point).succeed()
                    try second.noteMounted()
                    try Files.write("second", to: first.path("file"))
                    try unmount(first, home: first.home).succeed()
                    second.expectEnded()
                    #expect(kill(try #require(first.process), 0) == 0)
                    close(file)
                    first.expectEnded()
                    try second.mount()
                    #expect(try Files.text(second.path("file")) == "second")
                }
            }
        }

        @Test func withoutTheProcessNothingIsClaimed() throws {
            try withMountedProfile { profile in
                let record = try #require(try profile.lockNote().last) + ".mount"
                let text = try Files.text(record)
                try Files.remove(record)
                let refused = try unmount(profile).fail(with: 76)
                #expect(refused.error.contains("--home"))
                #expect(Mounts.below(profile.base) == [profile.point])
                // The profile that the user names counts.
                try Files.write("x", to: profile.path("file"))
                try profile.unmount()
                try profile.mount()
                #expect(try Files.text(record) != text)
                try Files.remove(record)
                let told = try unmount(profile, "--force").succeed()
                #expect(told.error.contains("nobody waited"))
                profile.expectEnded()
            }
        }

        @Test func theRecordEndsWithTheMount() throws {
            try withMountedProfile { profile in
                let record = try #require(try profile.lockNote().last) + ".mount"
                #expect(Files.exists(record))
                try profile.unmount()
                #expect(!Files.exists(record))
            }
        }

        /// A mount whose process was killed can be cleared without a profile.
        @Test func aDeadMountIsCleared() throws {
            try withMountedProfile { profile in
                try profile.crash()
                try unmount(profile).succeed()
                #expect(Mounts.below(profile.base) == [])
            }
        }
    }
}
