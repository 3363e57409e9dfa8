import Foundation
import Testing

extension MountTests {
    /// `coffer history`, `coffer diff` and `coffer restore`, on a mount and without one.
    @Suite struct HistoryCommandTests {
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
                let versions = try profile.command("history", "\(folder)/two").succeed().lines
                #expect(
                    versions.contains { $0.contains("nothing") } && versions.contains { $0.contains("3 B") })
                try profile.command("restore", "Personal/none", "--at", time).fail(with: 66)
                try profile.command("restore", "Personal", "--at", "1999-01-01").fail(with: 66)
                try profile.command("restore", "Personal", "--at", "soon").fail(with: 64)
                try profile.command("check").succeed()
                try profile.command("vault", "set", "--history", "none", "Personal").succeed()
                try profile.command("restore", "Personal", "--at", time).fail(with: 66)
            }
        }
    }
}
