import Foundation
import LocalServers
import Testing

extension MountTests {
    /// Two people with a mount each, whose remote is on a server.
    @Suite(.timeLimit(.minutes(15))) struct ServerRemoteTests {
        @Test(.enabled(if: SSHServer.isThere, "openssh-server is not installed"))
        func sharingOverSFTP() throws {
            let server = try SSHServer()
            let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            try share(["PATH": "\(server.programs):\(system)"]) { folder in
                "sftp://127.0.0.1:\(server.port)\(folder)"
            }
        }

        @Test(.enabled(if: LocalServer.has("rclone"), "rclone is not installed"))
        func sharingThroughRclone() throws {
            let directory = try LocalServer.makeDirectory()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try Files.write("[tests]\ntype = local\n", to: "\(directory)/rclone.conf")
            try share(["RCLONE_CONFIG": "\(directory)/rclone.conf"]) { folder in "rclone:tests:\(folder)" }
        }

        /// Each sees what the other does, and nothing is left behind.
        private func share(_ environment: [String: String], _ url: (_ folder: String) -> String) throws {
            let (alice, bob) = (try MountedProfile(), try MountedProfile())
            defer { for profile in [alice, bob] { profile.removeAll() } }
            let folder = "\(alice.base)/remote"
            try Files.makeDirectory(folder)
            for (name, profile) in [("Alice", alice), ("Bob", bob)] {
                profile.environment = environment
                try profile.initialise("--name", name, "--device", "\(name)'s laptop")
                try profile.mount()
            }
            func coffer(_ profile: MountedProfile, _ words: String...) throws -> Command {
                var command = try profile.command(passphrase: false)
                command.arguments = words + command.arguments
                return command
            }
            func path(_ profile: MountedProfile, _ name: String) -> String {
                "\(profile.point)/Plans/\(name)"
            }
            func expect(_ bytes: [UInt8], in name: String) {
                for profile in [alice, bob] {
                    let isThere = Processes.waitUntil { (try? Files.read(path(profile, name))) == bytes }
                    #expect(isThere, "\(name) in \(profile.point)")
                }
            }
            try Files.makeDirectory("\(alice.point)/Plans")
            try coffer(alice, "remote", "add", "Plans", url(folder)).succeed()
            let answer = try coffer(alice, "member", "invite", "Plans", "--role", "writer").succeed()
            let invite = try #require(answer.lines.first)
            try coffer(bob, "join", invite, "--as", "Plans").succeed()
            try coffer(bob, "sync", "Plans").succeed()
            let bytes = pattern(3_000_000)
            try Files.write(bytes, to: path(alice, "recording"))
            expect(bytes, in: "recording")
            try Files.write("two", to: path(bob, "file"))
            expect(Array("two".utf8), in: "file")
            try Files.remove(path(bob, "recording"))
            #expect(Processes.waitUntil { !Files.exists(path(alice, "recording")) })
            for profile in [alice, bob] {
                try coffer(profile, "sync", "Plans").succeed()
                // The connection is open at rest as well.
                try profile.noteMounted()
                try profile.unmount()
                #expect(try profile.check().damage.isEmpty)
            }
        }
    }
}
