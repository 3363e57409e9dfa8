import Foundation
import Testing

extension MountTests {
    /// A mount that was detached while a program uses it: no path leads to it, and its process still has the keys.
    @Suite(.enabled(if: Machine.isRoot, "umount2(2) takes root")) struct LockDetachedTests {
        private static let page = 4096

        private func lock(_ profile: MountedProfile, _ options: String...) throws -> Command {
            var command = try profile.command("lock", passphrase: false)
            command.arguments += options
            return command
        }

        /// Runs a body with a file of a mount that was detached then, and with what the file holds.
        ///
        /// The second half is written afterwards, and only the kernel has it.
        private func withDetached(
            _ environment: [String: String] = [:],
            _ body: (MountedProfile, _ file: Int32, _ content: [UInt8]) throws -> Void
        ) throws {
            try withProfile(mounted: nil) { profile in
                profile.environment = environment
                try profile.mount()
                let content = pattern(2 << 20)
                let half = content.count / 2
                let path = profile.path("file")
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                try Files.append(Array(content[..<half]), to: file, path)
                #expect(umount2(profile.point, Int32(MNT_DETACH)) == 0)
                try Files.append(Array(content[half...]), to: file, path)
                try body(profile, file, content)
                close(file)
                profile.expectEnded()
                profile.environment = [:]
                try profile.mount()
                #expect(try Files.read(path) == content)
                try profile.unmount()
            }
        }

        private func readError(_ file: Int32) throws -> Int32? {
            try errorNumber { _ = try Files.read("/proc/self/fd/\(file)") }
        }

        @Test func aDetachedMountIsLocked() throws {
            try withDetached { profile, file, content in
                let bytes = mmap(nil, Self.page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                let mapped = try #require(bytes == MAP_FAILED ? nil : bytes)
                defer { munmap(mapped, Self.page) }
                mapped.storeBytes(of: content[0], as: UInt8.self)
                for _ in 0..<2 {
                    try lock(profile).succeed()
                    #expect(try readError(file) == ENOKEY)
                    let status = try profile.command("status", passphrase: false).run()
                    #expect(status.output.contains("no longer at \(profile.point)"), "\(status.output)")
                    #expect(status.output.contains("Locked   since"), "\(status.output)")
                    try profile.command("unlock").succeed()
                    #expect(try Files.read("/proc/self/fd/\(file)") == content)
                }
            }
        }

        /// What keeps the kernel from writing is told; by force, the keys go all the same.
        @Test func aDetachedMountThatCannotBeSyncedStaysUnlocked() throws {
            try withDetached(["PATH": "/nonexistent"]) { profile, file, content in
                let result = try lock(profile).fail(with: 74)
                #expect(
                    result.error.contains(
                        "does not write what it has cached of the vaults: sync: No such file"),
                    "\(result.error)")
                #expect(try Files.read("/proc/self/fd/\(file)") == content)
                try lock(profile, "--force").succeed()
                #expect(try readError(file) == ENOKEY)
                try profile.command("unlock").succeed()
                #expect(try Files.read("/proc/self/fd/\(file)") == content)
            }
        }

        /// What programs write until a signal ends their detached mount is stored.
        @Test func aSignalStoresWhatADetachedMountHas() throws {
            try withProfile(mounted: nil) { profile in
                try profile.mount()
                let path = profile.path("file")
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                defer { close(file) }
                #expect(kill(try #require(profile.process), SIGTERM) == 0)
                #expect(Processes.waitUntil { Mounts.below(profile.base) == [] })
                try Files.append(pattern(300_000), to: file, path)
                profile.expectEnded()
                try profile.mount()
                #expect(try Files.read(path) == pattern(300_000))
                try profile.unmount()
            }
        }
    }
}
