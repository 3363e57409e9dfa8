import CFilesystemCalls
import Foundation
import Testing

extension MountTests {
    /// What a thief finds on the disk, and what other processes see.
    @Suite struct SecrecyTests {
        /// One text for every kind of place in which a vault stores text.
        static let secrets = [
            "name of a file unlike all others", "name of a directory unlike all others",
            "target of a link unlike all others",
            "content in one piece, unlike all others", "content of a large file, unlike all others",
            "value of an attribute unlike all others", "user.unlike-all-others", "Vault unlike all others",
            "removed content unlike all others", MountedProfile.passphrase, "Personal", "tester",
            "hint unlike all others",
        ]

        private func fill(_ profile: MountedProfile) throws {
            let file = profile.path(Self.secrets[0])
            try Files.write(Self.secrets[3], to: file)
            try Files.makeDirectory(profile.path(Self.secrets[1]))
            #expect(symlink(Self.secrets[2], profile.path("link")) == 0)
            try Files.write(
                Array(repeating: Self.secrets[4], count: 40_000).joined(), to: profile.path("large"),
                durably: true)
            #expect(
                linux_set_attribute(file, Self.secrets[6], Self.secrets[5], Self.secrets[5].utf8.count, 0)
                    == 0)
            try Files.makeDirectory("\(profile.point)/\(Self.secrets[7])")
            try Files.write(Self.secrets[8], to: profile.path("removed"), durably: true)
            try Files.remove(profile.path("removed"))
        }

        /// Appends to a file and fsyncs it.
        private func append(_ text: String, to path: String) throws {
            let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
            try Files.check(file, path)
            defer { close(file) }
            try Files.append(Array(text.utf8), to: file, path)
            try Files.check(fsync(file), path)
        }

        /// The secrets that appear unencrypted in the content or the name of a file below a directory.
        private func found(below directory: String, without exceptions: [String] = []) throws -> Set<String> {
            var found: Set<String> = []
            for path in try Files.all(below: directory) where !exceptions.contains(path) {
                let bytes = Data(try Files.read(path))
                for secret in Self.secrets
                where path.contains(secret) || bytes.range(of: Data(secret.utf8)) != nil {
                    found.insert(secret)
                }
            }
            return found
        }

        @Test func nothingOnDiskIsPlaintext() throws {
            try withMountedProfile { profile in
                try profile.command(
                    "passphrase", "--new-passphrase-file", profile.passphraseFile, "--strength",
                    "interactive",
                    "--hint", Self.secrets[12]
                ).succeed()
                try fill(profile)
                // An append goes to the intent log once there is a commit to build on.
                let hasIntents = try Processes.waitUntil {
                    try append(Self.secrets[3], to: profile.path("large"))
                    return try Files.all(below: profile.home).contains { $0.hasSuffix("/intents") }
                }
                #expect(hasIntents)
                // While mounted, after a crash, and at rest: index, logs, packs, temporary files.
                #expect(try found(below: profile.home) == [])
                try profile.crash()
                #expect(try found(below: profile.home) == [])
                try profile.mount()
                try profile.unmount()
                #expect(try found(below: profile.home) == [])
            }
        }

        /// The same search finds all secrets in plain files.
        @Test func searchWouldFindIt() throws {
            try withMountedProfile { profile in
                try fill(profile)
                #expect(linux_remove_attribute(profile.path(Self.secrets[0]), Self.secrets[6]) == 0)
                let plain = "\(profile.base)/plain"
                try Files.makeDirectory(plain)
                try Command("/bin/cp", ["-a", profile.vault, "\(profile.point)/\(Self.secrets[7])", plain])
                    .succeed()
                try Files.write("", to: "\(plain)/Personal/\(Self.secrets[1])/x")
                try Files.write("", to: "\(plain)/\(Self.secrets[7])/x")
                let expected = Set([0, 1, 3, 4, 7, 10].map { Self.secrets[$0] })
                #expect(try found(below: plain) == expected)
            }
        }

        @Test func noCoreDumps() throws {
            try withMountedProfile { profile in
                let process: pid_t = try #require(profile.process)
                let line = try #require(try Processes.limit(process, "Max core file size"))
                #expect(line.split(separator: " ").filter { $0 == "0" }.count == 2, "\(line)")
            }
        }

        /// Another process of the same user can neither trace coffer nor read its memory: it is not dumpable,
        /// so its files in /proc belong to root.
        @Test(
            .enabled(
                if: Machine.isRoot && Machine.has("setpriv"),
                "becoming another user takes root and setpriv(1)"))
        func sameUserCannotLookInside() throws {
            try withProfile(mounted: nil) { profile in
                try giveAway(profile)
                // While it waits for its passphrase.
                let fifo = "\(profile.base)/fifo"
                #expect(mkfifo(fifo, 0o666) == 0 && chown(fifo, 65_534, 65_534) == 0)
                let words = [try Programs.coffer(), "init", "--home", "\(profile.base)/of-nobody"]
                let child = try Child(
                    asNobody(words + ["--strength", "interactive", "--passphrase-file", fifo]))
                var status = stat()
                #expect(
                    Processes.waitUntil {
                        stat("/proc/\(child.process)/environ", &status) == 0 && status.st_uid == 0
                            && ((try? Files.text("/proc/\(child.process)/comm")) ?? "").hasPrefix("coffer")
                    })
                try expectClosed("\(child.process)")
                try Files.write("secret", to: fifo)
                #expect(try child.wait().status == 0)
            }
        }

        /// The same holds for a mount of an ordinary user.
        @Test(
            .enabled(
                if: Machine.isRoot && Machine.has("setpriv") && Machine.letsUsersMount,
                "becoming another user takes root, setpriv(1), and a /dev/fuse that is open to all"))
        func sameUserCannotLookInsideAMount() throws {
            try withProfile(mounted: nil) { profile in
                try giveAway(profile)
                let home = "\(profile.base)/of-nobody"
                let options = ["--home", home, "--passphrase-file", profile.passphraseFile]
                let coffer = try Programs.coffer()
                try asNobody([coffer, "init", "--strength", "interactive"] + options).succeed()
                try asNobody([coffer, "mount", profile.point] + options).succeed()
                let process = try #require(try Files.text("\(home)/lock").split(separator: "\n").first)
                try asNobody(["/bin/ls", "\(profile.point)/Personal"]).succeed()
                try expectClosed("\(process)")
                // The process can be replaced although it is not dumpable, and the next ones are not, either.
                try asNobody([coffer, "lock", "--home", home]).succeed()
                try expectClosed("\(process)")
                try asNobody([coffer, "unlock"] + options).succeed()
                try expectClosed("\(process)")
                try asNobody(["/bin/ls", "\(profile.point)/Personal"]).succeed()
                try asNobody([coffer, "unmount", profile.point] + options).succeed()
                #expect(Mounts.below(profile.base) == [])
            }
        }

        /// Gives the directory of a test to the user nobody.
        private func giveAway(_ profile: MountedProfile) throws {
            for path in [profile.base, profile.passphraseFile] { #expect(chown(path, 65_534, 65_534) == 0) }
        }

        private func asNobody(_ words: [String]) -> Command {
            Command("/usr/bin/setpriv", ["--reuid", "65534", "--regid", "65534", "--clear-groups"] + words)
        }

        private func expectClosed(_ process: String) throws {
            for name in ["environ", "maps", "mem", "auxv"] {
                let result = try asNobody(["/bin/cat", "/proc/\(process)/\(name)"]).run()
                #expect(result.status != 0 && result.error.contains("ermission"), "\(name): \(result.error)")
            }
        }

        /// Without allow_other no other user can enter, or even look.
        @Test(
            .enabled(
                if: Machine.isRoot && Machine.has("setpriv"),
                "becoming another user takes root and setpriv(1)"))
        func otherUsersCannotEnter() throws {
            try withMountedProfile { profile in
                try Files.write("mine", to: profile.path("file"))
                chmod(profile.vault, 0o777)
                let look = asNobody(["/bin/cat", profile.path("file")])
                #expect(try look.run().status != 0)
            }
        }
    }
}
