import Foundation
import Testing

extension MountTests {
    /// A person with two devices, each with a profile and a mount; the vault meets in a folder.
    @Suite struct DeviceTests {
        @Test func aSecondDeviceIsPairedAndLost() throws {
            try withMountedProfile { laptop in
                let folder = "\(laptop.base)/remote"
                try Files.makeDirectory(folder)
                try laptop.command("remote", "add", "Personal", folder).succeed()
                try noteSharing(laptop)
                try Files.write("from the laptop", to: laptop.path("one"))
                let desktop = try MountedProfile()
                defer { desktop.removeAll() }
                try pair(laptop, with: desktop, called: "desktop")
                try desktop.mount()
                try noteSharing(desktop)
                expect("from the laptop", in: desktop.path("one"))
                try Files.write("from the desktop", to: desktop.path("two"))
                expect("from the desktop", in: laptop.path("two"))
                try revoke("tester's desktop", on: laptop)
                try Files.write("too late", to: desktop.path("three"))
                try Files.write("new", to: laptop.path("four"))
                try laptop.command("sync").succeed()
                let refused = try desktop.command("sync", "Personal").fail(with: 77)
                #expect(refused.error.contains("coffer device refresh"))
                #expect(try Files.names(laptop.vault) == ["four", "one", "two"])
                #expect(try Files.names(desktop.vault) == ["one", "three", "two"], "it keeps what it has")
                desktop.expectsProblems = true
                try desktop.unmount()
            }
        }

        @Test func aWrongCodeLeavesNothing() throws {
            try withMountedProfile { laptop in
                let desktop = try MountedProfile()
                defer { desktop.removeAll() }
                let (waiting, adding, _) = try meet(laptop, desktop, "desktop")
                try enter("0000 0000", on: laptop)
                #expect(try waiting.wait().status == 77)
                let refused = try adding.wait()
                #expect(refused.status == 77 && refused.error.contains("codes differ"))
                #expect(!Files.exists("\(desktop.home)/profile"))
                #expect(try laptop.command("device", "list").succeed().lines.count == 2)
            }
        }

        /// A command that is ended while it waits leaves the mount ready for the next one.
        @Test func anEndedCommandEndsThePairing() throws {
            try withMountedProfile { laptop in
                let socket = "\(laptop.base)/pair"
                let waiting = try Child(
                    laptop.command("device", "authorize", "--listen", socket, "--code-file", "/dev/null"))
                _ = try waiting.waitForFirstLine()
                kill(waiting.process, SIGKILL)
                _ = try waiting.wait()
                #expect(Processes.waitUntil { !Files.exists(socket) })
                let desktop = try MountedProfile()
                defer { desktop.removeAll() }
                try pair(laptop, with: desktop, called: "desktop")
            }
        }

        @Test func questionsNeedATerminal() throws {
            try withMountedProfile { laptop in
                let authorize = try laptop.command("device", "authorize").fail(with: 64)
                #expect(authorize.error.contains("--code-file"))
                let refresh = try laptop.command("device", "refresh", "localhost:1").fail(with: 64)
                #expect(refresh.error.contains("--yes"))
                try laptop.command("device", "refresh", "--yes", "nowhere").fail(with: 64)
                let network = try laptop.command("device", "refresh", "--yes", "localhost:1").fail(with: 64)
                #expect(network.error.contains("socket"))
                let only = try laptop.command("device", "revoke", "--yes", "tester's machine").run()
                #expect(only.status == 66 || only.status == 77)
                try laptop.command("init", "--pair", "x:1", "--vault", "v").fail(with: 64)
            }
        }

        // MARK: Steps

        private func code(of laptop: MountedProfile) -> String { "\(laptop.base)/code" }

        /// Starts both commands, and waits for the code.
        private func meet(
            _ laptop: MountedProfile, _ desktop: MountedProfile, _ name: String
        ) throws -> (waiting: Child, adding: Child, code: String) {
            let (socket, pipe) = ("\(laptop.base)/pair", code(of: laptop))
            if !Files.exists(pipe) { try Files.check(mkfifo(pipe, 0o600), pipe) }
            let waiting = try Child(
                laptop.command("device", "authorize", "--listen", socket, "--code-file", pipe))
            #expect(try waiting.waitForFirstLine() == socket)
            let adding = try Child(
                desktop.command(
                    "init", "--strength", "interactive", "--pair", socket, "--device", name, "--yes"))
            return (waiting, adding, try adding.waitForFirstLine())
        }

        /// Writes a code where `coffer device authorize` reads it.
        private func enter(_ text: String, on laptop: MountedProfile) throws {
            try FileHandle(forWritingTo: URL(filePath: code(of: laptop))).write(
                contentsOf: Data("\(text)\n".utf8))
        }

        private func pair(_ laptop: MountedProfile, with desktop: MountedProfile, called name: String) throws
        {
            let (waiting, adding, code) = try meet(laptop, desktop, name)
            try enter(code, on: laptop)
            let (authorized, added) = (try waiting.wait(), try adding.wait())
            #expect(authorized.status == 0, "\(authorized.error)")
            #expect(added.status == 0, "\(added.error)")
            let list = try laptop.command("device", "list").succeed()
            #expect(list.output.contains("tester's \(name)"))
        }

        private func revoke(_ device: String, on laptop: MountedProfile) throws {
            let result = try laptop.command("device", "revoke", "--yes", device).succeed()
            #expect(result.lines == ["Personal: the vault's keys are new"])
            #expect(try laptop.command("device", "list").succeed().output.contains("revoked"))
        }

        private func expect(_ text: String, in path: String) {
            let isThere = Processes.waitUntil { (try? Files.text(path)) == text }
            #expect(isThere, "\(path)")
        }

        /// Waits until the mount watches the folder, and records what it has open then as what it has at rest.
        private func noteSharing(_ profile: MountedProfile) throws {
            let isWatching = Processes.waitUntil {
                ((try? profile.descriptors()) ?? []).contains("anon_inode:inotify")
            }
            #expect(isWatching)
            try profile.noteMounted()
        }
    }
}
