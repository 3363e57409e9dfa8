import Foundation
import Testing

extension MountTests {
    /// The process that serves a mount, while it is replaced by the next one.
    @Suite struct LockProcessTests {
        /// The files that programs which the process starts would get, by number.
        private func inherited(_ process: pid_t) throws -> [Int: String] {
            var files: [Int: String] = [:]
            for name in try Files.names("/proc/\(process)/fdinfo") {
                guard let number = Int(name), number > 2,
                    let text = try? Files.text("/proc/\(process)/fdinfo/\(name)"),
                    let line = text.split(separator: "\n").first(where: { $0.hasPrefix("flags:") }),
                    let flags = Int32(line.split(separator: "\t")[1], radix: 8), flags & O_CLOEXEC == 0
                else { continue }
                let link = "/proc/\(process)/fd/\(name)"
                files[number] = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
            }
            return files
        }

        /// Programs that the mount starts, such as fusermount3(1), must not get the connection to the kernel.
        @Test func descriptorsAreNotPassedOn() throws {
            try withMountedProfile { profile in
                let process = try #require(profile.process)
                #expect(try inherited(process) == [:])
                try profile.command("lock", passphrase: false).succeed()
                #expect(try inherited(process) == [:])
                try profile.command("unlock").succeed()
                #expect(try inherited(process) == [:])
            }
        }

        /// What whoever started the mount has left open does not reach the process without keys.
        @Test func descriptorsOfTheStarterEndWithTheLock() throws {
            try withProfile(mounted: nil) { profile in
                try Files.write("open", to: "\(profile.base)/left")
                var mount = try profile.command("mount", "--foreground", profile.point)
                mount.arguments =
                    ["-c", "exec 9<\"$0\"; exec \"$@\"", "\(profile.base)/left", mount.program]
                    + mount.arguments
                var shell = Command("/bin/sh", mount.arguments)
                shell.environment = mount.environment
                let child = try Child(shell)
                #expect(Processes.waitUntil { Files.exists(profile.vault) })
                try profile.noteMounted()
                let process = try #require(profile.process)
                #expect(try inherited(process)[9] == "\(profile.base)/left")
                try profile.command("lock", passphrase: false).succeed()
                #expect(try inherited(process) == [:])

                try profile.command("unmount", profile.point, passphrase: false).succeed()
                #expect(try child.wait().status == 0)
                profile.expectEnded()
            }
        }

        /// The process may end at any moment of a lock, like any other that is killed: what is durable stays so.
        @Test func aCrashDuringALockLosesNothingDurable() throws {
            for round in 0..<5 {
                try withProfile(mounted: nil) { profile in
                    try profile.mount()
                    try Files.write(pattern(200_000), to: profile.path("durable"), durably: true)
                    try Files.write(pattern(3 << 20, seed: 2), to: profile.path("cached"))
                    let child = try Child(try profile.command("lock", passphrase: false))
                    usleep(UInt32(round) * 60_000)
                    try profile.crash()
                    // The command ends with the process, whether that has answered or not.
                    _ = try child.wait(seconds: 60)
                    try profile.mount()
                    #expect(try Files.read(profile.path("durable")) == pattern(200_000))
                    #expect(try profile.check().damage.isEmpty)
                    try profile.command("lock", passphrase: false).succeed()
                    try profile.command("unlock").succeed()
                    #expect(try Files.read(profile.path("durable")) == pattern(200_000))
                    try profile.unmount()
                }
            }
        }

        /// fsync of what was written before the lock has nothing left to do.
        @Test func fsyncSucceedsWhileTheProfileIsLocked() throws {
            try withMountedProfile { profile in
                let path = profile.path("file")
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                let folder = open(profile.vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                defer {
                    close(file)
                    close(folder)
                }
                try Files.append(pattern(300_000), to: file, path)
                try profile.command("lock", passphrase: false).succeed()
                #expect(fsync(file) == 0 && fdatasync(file) == 0 && fsync(folder) == 0)
                #expect(try errorNumber { try Files.append([1], to: file, path) } == ENOKEY)
                try profile.command("unlock").succeed()
                #expect(try Files.read(path) == pattern(300_000))
            }
        }
    }
}
