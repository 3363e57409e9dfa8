import Foundation
import Testing

extension MountTests {
    /// The ways in which a mount ends, and what is stored afterwards.
    @Suite struct EndingTests {
        /// Writes some hundred files without any fsync.
        private func writeMuch(_ profile: MountedProfile) throws {
            for index in 0..<300 {
                try Files.write(pattern(index * 37, seed: UInt64(index)), to: profile.path("file-\(index)"))
            }
            try Files.write(pattern(5 << 20), to: profile.path("big"))
        }

        private func expectAll(_ profile: MountedProfile) throws {
            for index in 0..<300 {
                let bytes = try Files.read(profile.path("file-\(index)"))
                #expect(bytes == pattern(index * 37, seed: UInt64(index)), "file-\(index)")
            }
            #expect(try Files.read(profile.path("big")) == pattern(5 << 20))
            #expect(try profile.check().damage.isEmpty)
        }

        @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
        func signalStoresEverything(signal: Int32) throws {
            try withMountedProfile { profile in
                try writeMuch(profile)
                #expect(kill(try #require(profile.process), signal) == 0)
                profile.expectEnded()
                try profile.mount()
                try expectAll(profile)
            }
        }

        @Test func signalWhileFilesAreOpen() throws {
            try withMountedProfile { profile in
                try writeMuch(profile)
                let path = profile.path("open")
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                defer { close(file) }
                try Files.append(pattern(100_000, seed: 9), to: file, path)
                #expect(kill(try #require(profile.process), SIGTERM) == 0)
                profile.expectEnded()
                try profile.mount()
                try expectAll(profile)
                #expect(try Files.read(path) == pattern(100_000, seed: 9))
            }
        }

        @Test func umountOfTheSystemUnmounts() throws {
            try withMountedProfile { profile in
                try writeMuch(profile)
                try profile.checkAtRest()
                #expect(umount2(profile.point, 0) == 0)
                profile.expectEnded()
                try profile.mount()
                try expectAll(profile)
            }
        }

        @Test func unmountOfABusyMountIsRefused() throws {
            try withMountedProfile { profile in
                let file = open(profile.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                let result = try profile.command("unmount", profile.point).fail(with: 75)
                #expect(result.error.contains("in use"))
                try Files.append(Array("still there".utf8), to: file, "file")
                close(file)
                #expect(try Files.text(profile.path("file")) == "still there")
            }
        }

        @Test func lazyUnmountEndsWithTheLastUser() throws {
            try withMountedProfile { profile in
                let path = profile.path("file")
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                try profile.command("unmount", "--lazy", profile.point).succeed()
                #expect(Mounts.below(profile.base) == [])
                try Files.append(Array("late".utf8), to: file, path)
                close(file)
                profile.expectEnded()
                try profile.mount()
                #expect(try Files.text(path) == "late")
            }
        }

        /// A file that was removed while open is gone after a crash, and takes no space.
        @Test func unlinkedFilesAreRemovedAfterACrash() throws {
            try withMountedProfile { profile in
                let path = profile.path("file")
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                try Files.append(pattern(1 << 20), to: file, path)
                #expect(fsync(file) == 0)
                try Files.remove(path)
                try Files.write("", to: profile.path("durable"), durably: true)
                try profile.crash()
                close(file)
                try profile.mount()
                #expect(try Files.names(profile.vault) == ["durable"])
                #expect(Processes.waitUntil { (try? profile.status().vaults.first?.contentBytes) == 0 })
                #expect(try profile.check().damage.isEmpty)
            }
        }
    }
}
