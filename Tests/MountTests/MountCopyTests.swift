import Foundation
import Testing

extension MountTests {
    /// Mounts that another mount namespace has a copy of, as containers and services do.
    @Suite(.enabled(if: Machine.hasMountNamespaces, "a mount namespace of its own takes root and unshare(1)"))
    struct MountCopyTests {
        /// Runs a body while a process in a mount namespace of its own has a copy of all mounts.
        ///
        /// - Parameter script: For sh, with a path of the vault as `$1`: what the process does with the copy.
        private func withCopy(
            _ profile: MountedProfile, _ script: String = "", _ body: (pid_t) throws -> Void
        ) throws {
            let unshare = try #require(Machine.path("unshare"))
            let words = [
                "--mount", "sh", "-euc", script + "\necho ready; exec sleep 600", "sh",
                profile.path("theirs"),
            ]
            let holder = try Child(Command(unshare, words))
            defer {
                kill(holder.process, SIGKILL)
                _ = try? holder.wait()
            }
            try holder.waitForLine("ready")
            try body(holder.process)
        }

        @Test func unusedCopyEndsWithTheMount() throws {
            try withMountedProfile { profile in
                try withCopy(profile) { _ in
                    try Files.write(pattern(3 << 20), to: profile.path("file"))
                    let result = try profile.command("unmount", profile.point).succeed()
                    // Programs that only live in the other namespace are not named.
                    #expect(
                        result.error
                            == "\(profile.point) is also mounted in other mount namespaces. It ends there, too.\n"
                    )
                    profile.expectEnded()
                    try profile.mount()
                    #expect(try Files.read(profile.path("file")) == pattern(3 << 20))
                }
            }
        }

        /// Data written through the copy is stored, whichever mount ends first.
        @Test(arguments: ["open", "mapped", "at home"])
        func usedCopyKeepsTheMount(use: String) throws {
            let scripts = [
                "open": #"exec 3>"$1"; echo late >&3"#,
                "mapped": #"echo late >"$1"; cp /bin/sleep "$1.sleep"; echo ready; exec "$1.sleep" 600"#,
                "at home": #"echo late >"$1"; cd "${1%/*}""#,
            ]
            try withMountedProfile { profile in
                try withCopy(profile, try #require(scripts[use])) { holder in
                    let refused = try profile.command("unmount", profile.point).fail(with: 75)
                    #expect(refused.error.contains("another mount namespace"))
                    #expect(refused.error.contains("(process \(holder))"))
                    try Files.write("ours", to: profile.path("ours"))
                    if use == "open" {
                        #expect(kill(try #require(profile.process), SIGTERM) == 0)
                    } else {
                        try profile.command("unmount", "--force", profile.point).succeed()
                    }
                    profile.expectEnded()
                }
                try profile.mount()
                #expect(try Files.text(profile.path("theirs")) == "late\n")
                #expect(try Files.text(profile.path("ours")) == "ours")
            }
        }

        /// A bind mount is a copy in the same mount namespace.
        @Test func usedBindMountKeepsTheMount() throws {
            try withMountedProfile { profile in
                try profile.withBindMount { other in
                    let path = "\(other)/late"
                    let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
                    try Files.check(file, path)
                    defer { close(file) }
                    let refused = try profile.command("unmount", profile.point).fail(with: 75)
                    #expect(refused.error.contains("(process \(getpid()))"))
                    // Data written after that is stored, too, although the command has no other path to it.
                    let text = Array("late".utf8)
                    #expect(write(file, text, text.count) == text.count)
                    let told = try profile.command("unmount", "--force", profile.point).succeed()
                    #expect(told.error.contains(other))
                    // The process has ended; its place in the namespace is the administrator's to clear.
                    #expect(umount2(other, Int32(MNT_DETACH)) == 0)
                    profile.expectEnded()
                    try profile.mount()
                    #expect(try Files.text(profile.path("late")) == "late")
                }
            }
        }

        /// An unused copy keeps nothing alive.
        @Test func unusedBindMountEndsWithTheMount() throws {
            try withMountedProfile { profile in
                try profile.withBindMount { other in
                    try Files.write("ours", to: "\(other)/file")
                    let told = try profile.command("unmount", profile.point).succeed()
                    #expect(told.error.contains(other))
                    // The process has ended; its place in the namespace is the administrator's to clear.
                    #expect(umount2(other, Int32(MNT_DETACH)) == 0)
                    profile.expectEnded()
                    try profile.mount()
                    #expect(try Files.text(profile.path("file")) == "ours")
                }
            }
        }

        /// umount(2) detaches the mount from its mount point; the rest can still be ended.
        @Test func mountWithOnlyACopyCanBeEnded() throws {
            try withMountedProfile { profile in
                try withCopy(profile) { _ in
                    try Files.write("ours", to: profile.path("ours"))
                    #expect(umount2(profile.point, 0) == 0)
                    let refused = try profile.command("unmount", profile.point).fail(with: 75)
                    #expect(refused.error.contains("--force"))
                    try profile.command("unmount", "--force", profile.point).succeed()
                    profile.expectEnded()
                }
                try profile.mount()
                #expect(try Files.text(profile.path("ours")) == "ours")
            }
        }
    }
}
