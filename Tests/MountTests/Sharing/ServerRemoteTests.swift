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

        /// Credentials come into a running mount, are revoked by the server, replaced, and removed.
        @Test(
            .enabled(
                if: LocalServer.canRun(["python3", "-c", "import moto.server, botocore"]), "moto is missing"))
        func keysOfS3InTheProfile() throws {
            let alice = try MountedProfile()
            defer { alice.removeAll() }
            let revoked = "\(alice.base)/revoked"
            let server = try LocalServer(["python3", LocalServer.script("s3.py"), revoked])
            let url = "s3:http://127.0.0.1:\(try server.port())/tests/\(UInt64.random(in: 0 ... .max))"
            alice.environment = ["AWS_EC2_METADATA_DISABLED": "true", "HOME": alice.base]
            alice.expectsProblems = true
            try alice.initialise("--name", "Alice")
            try alice.mount()
            func coffer(_ words: String..., input: String = "") throws -> Command {
                var command = try alice.command(passphrase: false)
                command.arguments = words + command.arguments
                command.input = input
                return command
            }
            func expectAdvice(_ result: Command.Result, _ more: String...) {
                for text in ["coffer remote login"] + more {
                    #expect(result.error.contains(text), "\(result.error)")
                }
            }
            expectAdvice(try coffer("remote", "add", "Personal", url).fail(with: 74), url)
            let secret = "the secret of/the+writer"
            try coffer("remote", "login", url, "--credentials-file", "-", input: "writer\n").fail(with: 64)
            try coffer("remote", "login", url, "--credentials-file", "-", input: "writer\n\(secret)\n")
                .succeed()
            try coffer("remote", "add", "Personal", url).succeed()
            try Files.write("one", to: alice.path("one"))
            try coffer("sync", "Personal").succeed()
            let list = try coffer("remote", "list").succeed().output
            #expect(list.contains("set") && !list.contains("writer") && !list.contains("secret"))
            // Nothing in the profile shows them.
            let grep = Command("/bin/grep", ["-rqF", "-e", secret, "-e", "writer", alice.home])
            #expect(try grep.run().status == 1)
            try Files.write("writer\n", to: revoked)
            try Files.write(pattern(3_000_000), to: alice.path("two"))
            expectAdvice(try coffer("sync", "Personal").fail(with: 74), "Personal", "InvalidAccessKeyId")
            try coffer(
                "remote", "login", "Personal", "--credentials-file", "-",
                input: "deputy\nthe secret of the deputy"
            ).succeed()
            // The mount sends what waits, without being asked.
            let isSent = Processes.waitUntil {
                (try? alice.status().vaults.first?.sync).map { $0?.unsentItems == 0 && $0?.failure == nil }
                    ?? false
            }
            #expect(isSent)
            try coffer("remote", "logout", "Personal").succeed()
            try coffer("remote", "logout", "Personal").fail(with: 66)
            expectAdvice(try coffer("sync", "Personal").fail(with: 74), "Personal")
            #expect(try Files.read(alice.path("two")) == pattern(3_000_000))
            // The connections are open at rest as well.
            try alice.noteMounted()
            try alice.unmount()
        }

        /// No more than the limit goes out: it takes at least so long, on any machine.
        @Test func aThinLine() throws {
            let alice = try MountedProfile()
            defer { alice.removeAll() }
            try alice.initialise()
            for rate in ["upload=12", "download=fast", "upload="] {
                var command = try alice.command("mount", "-o", rate)
                command.arguments += ["--", alice.point]
                try command.fail(with: 64)
            }
            try alice.mount("upload=8M")
            try Files.makeDirectory("\(alice.base)/remote")
            var add = try alice.command("remote", passphrase: false)
            add.arguments = ["remote", "add", "Personal", "\(alice.base)/remote"] + add.arguments.dropFirst()
            try add.succeed()
            try Files.write(pattern(25_000_000), to: alice.path("large"))
            let start = ContinuousClock.now
            try alice.command("sync", passphrase: false).succeed()
            // The first two objects of 8 MB have to be accounted for before the last one goes.
            #expect(start.duration(to: .now) > .seconds(1))
            // The folder is watched at rest as well.
            try alice.noteMounted()
            try alice.unmount()
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
