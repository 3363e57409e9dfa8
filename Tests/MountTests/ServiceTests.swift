import Foundation
import Testing

extension MountTests {
    /// Mounts under a service manager.
    @Suite struct ServiceTests {
        /// The mount tells the manager's socket when it serves, and when it is told to end.
        @Test func managerHears() throws {
            try withProfile(mounted: nil) { profile in
                let path = "\(profile.base)/notify"
                let socket = try listen(at: path)
                defer { close(socket) }
                var mount = try profile.command("mount", "--foreground", profile.point)
                mount.environment["NOTIFY_SOCKET"] = path
                let child = try Child(mount)
                #expect(receive(socket) == "READY=1\nSTATUS=Vaults are served at \(profile.point).\n")
                #expect(Files.exists(profile.vault))
                try profile.noteMounted()
                #expect(profile.process == child.process)
                try Files.write("kept", to: profile.path("file"))
                kill(child.process, SIGTERM)
                #expect(receive(socket) == "STOPPING=1\nSTATUS=Storing the last changes.\n")
                #expect(try child.wait().status == 0)
                profile.expectEnded()
                try profile.mount()
                #expect(try Files.text(profile.path("file")) == "kept")
            }
        }

        /// The mount serves even if the manager is gone.
        @Test func managerIsGone() throws {
            try withProfile(mounted: nil) { profile in
                var mount = try profile.command("mount", "--foreground", profile.point)
                mount.environment["NOTIFY_SOCKET"] = "\(profile.base)/none"
                let child = try Child(mount)
                #expect(Processes.waitUntil { Files.exists(profile.vault) })
                try profile.noteMounted()
                kill(child.process, SIGTERM)
                let result = try child.wait()
                #expect(result.status == 0)
                #expect(result.error.contains("The service manager could not be notified"))
                profile.expectEnded()
            }
        }

        @Test(
            .enabled(
                if: Machine.has("systemd-analyze"), "systemd-analyze is not installed (package systemd)"),
            arguments: ["user", "system"])
        func unitsAreSound(manager: String) throws {
            var template = Array("\(NSTemporaryDirectory())/coffer-units-XXXXXX".utf8CString)
            let base = String(cString: try #require(mkdtemp(&template)))
            defer { try? FileManager.default.removeItem(atPath: base) }
            try Files.makeDirectory("\(base)/bin")
            try Files.check(symlink(try Programs.coffer(), "\(base)/bin/coffer"), base)
            var install = Command("/bin/sh", ["\(SystemMount.sources)/install.sh", "install"])
            install.environment = ["DESTDIR": "", "PREFIX": base, "SBINDIR": "\(base)/sbin"]
            try install.succeed()
            let unit = manager == "user" ? "coffer.service" : "coffer@name.service"
            if manager == "system" {
                let units = "\(base)/lib/systemd/system"
                try Files.check(symlink("coffer@.service", "\(units)/\(unit)"), units)
            }
            var verify = Command(
                try #require(Machine.path("systemd-analyze")),
                ["verify", "--\(manager)", "--man=no", "\(base)/lib/systemd/\(manager)/\(unit)"])
            verify.environment["XDG_RUNTIME_DIR"] = base
            let result = try verify.run()
            let complaints = result.error.split(separator: "\n").filter { $0.contains("coffer") }
            #expect(result.status == 0 && complaints.isEmpty, "\(result.error)")
            install.arguments[1] = "uninstall"
            try install.succeed()
            #expect(try Files.all(below: base) == ["\(base)/bin/coffer"])
        }

        private func listen(at path: String) throws -> Int32 {
            let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            let size = socklen_t(MemoryLayout<sockaddr_un>.size)
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) }
            }
            try Files.check(bound, path)
            return socket
        }

        /// Waits for a datagram.
        private func receive(_ socket: Int32) -> String? {
            var wanted = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, 60_000) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &buffer, buffer.count, 0)
            return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }
}
