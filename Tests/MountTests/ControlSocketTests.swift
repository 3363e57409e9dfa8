import Foundation
import Testing

extension MountTests {
    /// Commands that end before their answer, and commands that wait for others.
    @Suite struct ControlSocketTests {
        @Test func commandThatIsKilled() throws {
            try withMountedProfile { profile in
                for index in 0..<8 { try Files.write(pattern(4 << 20), to: profile.path("file-\(index)")) }
                for _ in 0..<5 {
                    let child = try Child(try profile.command("check"))
                    usleep(useconds_t.random(in: 0...60_000))
                    kill(child.process, SIGKILL)
                    _ = try child.wait()
                }
                // The mount has survived each of them, and answers.
                #expect(try profile.check().damage.isEmpty)
                #expect(try Files.read(profile.path("file-7")) == pattern(4 << 20))
            }
        }

        @Test func commandsAtTheSameTime() throws {
            try withMountedProfile { profile in
                try Files.write(pattern(16 << 20), to: profile.path("file"))
                let commands = [
                    try profile.command("check"), try profile.command("status"),
                    try profile.command("vault", "create", "One"), try profile.command("check"),
                    try profile.command("vault", "list"), try profile.command("vault", "create", "Two"),
                ]
                let children = try commands.map { try Child($0) }
                for (child, command) in zip(children, commands) {
                    let result = try child.wait()
                    #expect(result.status == 0, "\(command): \(result.error)")
                }
                #expect(try Files.names(profile.point) == ["One", "Personal", "Two"])
            }
        }

        /// A copy of a profile, mounted beside the original: each command acts on the profile that it names.
        @Test func aCopyOfAProfile() throws {
            try withMountedProfile { profile in
                try profile.unmount()
                let (home, point) = ("\(profile.base)/copy", "\(profile.base)/mount of the copy")
                try Command("/bin/cp", ["-a", profile.home, home]).succeed()
                try profile.mount()
                func copy(_ words: String...) throws -> Command {
                    Command(
                        try Programs.coffer(),
                        words + ["--home", home, "--passphrase-file", profile.passphraseFile])
                }
                try copy("mount", point).succeed()
                defer { _ = try? copy("unmount", point).run() }
                try copy("vault", "create", "Of the copy").succeed()
                try profile.command("vault", "create", "Of the original").succeed()
                #expect(try Files.names(point) == ["Of the copy", "Personal"])
                #expect(try Files.names(profile.point) == ["Of the original", "Personal"])
                try copy("vault", "delete", "--yes", "Personal").succeed()
                #expect(Files.exists(profile.vault))
                try copy("unmount", point).succeed()
                #expect(try profile.status().vaults.count == 2, "the original answers")
            }
        }

        /// A client that connects and sends nothing delays no other client.
        @Test func silentClient() throws {
            try withMountedProfile { profile in
                let path = try #require(try profile.lockNote().last)
                let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
                defer { close(client) }
                var address = sockaddr_un()
                address.sun_family = sa_family_t(AF_UNIX)
                withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
                let result = withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                    }
                }
                try #require(result == 0)
                #expect(try profile.command("status", "--json").run(seconds: 60).status == 0)
            }
        }
    }
}
