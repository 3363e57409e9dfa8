import Foundation
import Testing

extension MountTests {
    /// `coffer history`, `coffer diff` and `coffer restore`, on a mount and without one.
    @Suite struct HistoryCommandTests {
        private static func status(_ path: String) -> stat {
            var status = stat()
            lstat(path, &status)
            return status
        }

        @Test func whatWasDeletedComesBack() throws {
            try withMountedProfile { profile in
                let folder = "\(profile.point)/Personal/folder"
                try profile.command("history", "Personal").fail(with: 66)
                try profile.command("vault", "set", "--history", "14d", "Personal").succeed()
                try Files.makeDirectory(folder)
                try Files.write("one", to: "\(folder)/one")
                try Files.write("two", to: "\(folder)/two")
                // Times are given in seconds.
                Thread.sleep(forTimeInterval: 2.1)
                try profile.command("history", "Personal").succeed()
                let time = Date().ISO8601Format()
                Thread.sleep(forTimeInterval: 1.1)
                try Files.write("changed", to: "\(folder)/one")
                try Files.write("new", to: "\(folder)/three")
                try Files.remove("\(folder)/two")
                let differences = try profile.command("diff", "Personal", "--from", time).succeed().lines
                #expect(differences == ["M folder/one", "+ folder/three", "- folder/two"])
                try profile.command("restore", "Personal/folder", "--at", time, "--dry-run").succeed()
                #expect(try Files.text("\(folder)/one") == "changed")
                try profile.command("restore", folder, "--at", time).succeed()
                #expect(try Files.names(folder) == ["one", "three", "two"])
                #expect(try Files.text("\(folder)/one") == "one")
                #expect(try Files.text("\(folder)/two") == "two")
                try profile.command("restore", "Personal", "--at", time, "--exact").succeed()
                #expect(try Files.names(folder) == ["one", "two"])
                // Programs see the mode and the time of a folder as it was.
                let before = Self.status(folder)
                #expect(chmod(folder, 0o700) == 0 && Self.status(folder).st_mode & 0o777 == 0o700)
                try profile.command("restore", "Personal", "--at", time).succeed()
                let after = Self.status(folder)
                #expect(after.st_mode == before.st_mode && after.st_mtim.tv_sec == before.st_mtim.tv_sec)
                let versions = try profile.command("history", "\(folder)/two").succeed().lines
                #expect(
                    versions.contains { $0.contains("nothing") } && versions.contains { $0.contains("3 B") })
                try profile.command("restore", "Personal/none", "--at", time).fail(with: 66)
                try profile.command("restore", "Personal", "--at", "1999-01-01").fail(with: 66)
                // What is no time may be the name of a snapshot.
                for form in ["soon", "2026-13-01", "25:00", "2026-11-20T14:0", "5x"] {
                    let failure = try profile.command("restore", "Personal", "--at", form).fail(with: 66)
                    #expect(failure.error.contains("no time"))
                }
                for form in ["", "..", "a/b", "2026-11-20T14:05:06.5", String(repeating: "x", count: 101)] {
                    try profile.command("restore", "Personal", "--at", form).fail(with: 64)
                }
                // All of these are before the history.
                let day = ["2020-02-29", "2020-02-29T14:05", "2020-02-29 14:05", "2020-02-29T14:05:06Z"]
                for form in day + ["30m", "2h", "3d", "1w"] {
                    try profile.command("restore", "Personal", "--at", form).fail(with: 66)
                }
                // And these are not, unless the day has just begun.
                try profile.command("diff", "Personal", "--from", "0s").succeed()
                try profile.command("diff", "Personal", "--from", "23:59:59").succeed()
                try profile.command("check").succeed()
                let info = try profile.command("vault", "info", "Personal").succeed().lines
                #expect(info.contains { $0.hasPrefix("History") })
                try profile.command("vault", "set", "--history", "none", "Personal").succeed()
                try profile.command("restore", "Personal", "--at", time).fail(with: 66)
            }
        }
    }
}
