import Foundation
import Testing

extension MountTests {
    /// The debug log of a mount.
    @Suite struct DebugLogTests {
        /// Nothing is logged unless a level is given.
        @Test func offByDefault() throws {
            try withProfile(mounted: nil) { profile in
                let file = "\(profile.base)/log"
                let mount = try profile.command(
                    "mount", "--foreground", "--log-file", file, profile.point)
                let child = try Child(mount)
                #expect(Processes.waitUntil { Files.exists(profile.vault) })
                try profile.noteMounted()
                try Files.write("text", to: profile.path("file"), durably: true)
                kill(child.process, SIGTERM)
                let result = try child.wait()
                #expect(result.status == 0 && !result.error.contains(" info "), "\(result.error)")
                #expect(!Files.exists(file))
                profile.expectEnded()
            }
        }

        /// In the foreground, it goes to standard error.
        @Test func standardError() throws {
            try withProfile(mounted: nil) { profile in
                var mount = try profile.command("mount", "--foreground", profile.point)
                mount.environment["COFFER_LOG_LEVEL"] = "info"
                let child = try Child(mount)
                #expect(Processes.waitUntil { Files.exists(profile.vault) })
                try profile.noteMounted()
                kill(child.process, SIGTERM)
                let result = try child.wait()
                #expect(result.error.contains("Z info mount: serving 1 vaults\n"), "\(result.error)")
                #expect(result.error.contains("Z info mount: signal 15 asks the mount to end\n"))
                profile.expectEnded()
            }
        }

        @Test func wrongLevel() throws {
            try withProfile(mounted: nil) { profile in
                var mount = try profile.command("mount", profile.point)
                mount.environment["COFFER_LOG_LEVEL"] = "loud"
                let result = try mount.run()
                #expect(result.status == 64 && result.error.contains("“loud”"), "\(result.error)")
                #expect(try profile.command("mount", "--log-level", "loud", profile.point).run().status == 64)
            }
        }

        /// A whole story, at the most talkative level: it tells what happened, and no name of it.
        @Test func aStoryWithoutNames() throws {
            try withProfile(mounted: nil) { profile in
                let file = "\(profile.base)/log"
                let remote = "\(profile.base)/store-of-nobody"
                let away = "webdav://user-of-nobody@127.0.0.1:9/path-of-nobody"
                let secrets = [
                    "file-of-nobody", "folder-of-nobody", "vault-of-nobody", "text of nobody",
                    "store-of-nobody", "user-of-nobody", "path-of-nobody", "password-of-nobody",
                    MountedProfile.passphrase, "Personal", profile.base, "127.0.0.1",
                ]
                try Files.makeDirectory(remote)
                var mount = try profile.command(
                    "mount", "--log-level", "trace", "--log-file", file, profile.point)
                mount.environment["COFFER_WEBDAV_SERVER"] = "webdav://127.0.0.1:9"
                mount.environment["COFFER_WEBDAV_PASSWORD"] = "password-of-nobody"
                try mount.succeed()
                try profile.noteMounted()
                try Files.makeDirectory("\(profile.point)/vault-of-nobody")
                try Files.makeDirectory(profile.path("folder-of-nobody"))
                let path = profile.path("folder-of-nobody/file-of-nobody")
                try Files.write("text of nobody", to: path, durably: true)
                try profile.command("remote", "add", "Personal", remote).succeed()
                try profile.command("sync").succeed()
                try profile.command("member", "invite", "Personal").succeed()
                #expect(try profile.command("sync", "None-of-nobody").run().status == 66)
                let adding = try profile.command("remote", "add", "vault-of-nobody", away).run()
                #expect(adding.status == 74, "\(adding.error)")
                try Files.write("more text of nobody", to: path, durably: true)
                try profile.command("sync").succeed()
                _ = try profile.command("evict", "Personal").run()
                try profile.command("unmount", profile.point, passphrase: false).succeed()
                profile.expectEnded()

                let log = try Files.text(file)
                for text in [
                    "info mount: serving 1 vaults", "opened in slot 1", "info sync: vault ",
                    "debug remote: put of ", "debug commit: ", "debug control: SyncRequest answered",
                    "debug control: SyncRequest refused", "info space: vault ",
                    "debug control: RemoteRequest.add refused",
                    "info mount: the mount is gone", "stored and closed",
                ] {
                    #expect(log.contains(text), "\(text)")
                }
                for secret in secrets {
                    let lines = log.split(separator: "\n").filter { $0.contains(secret) }
                    #expect(lines.isEmpty, "\(secret): \(lines.prefix(3))")
                }
                var status = stat()
                #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
            }
        }
    }
}
