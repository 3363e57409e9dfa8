import Foundation
import Testing

extension MountTests {
    /// `coffer vault …`, with the mount in sight and without one.
    @Suite struct VaultCommandTests {
        private func names(_ profile: MountedProfile) throws -> [String] {
            try profile.command("vault", "list").succeed().lines
        }

        @Test(arguments: [true, false])
        func createListInfoRenameDelete(isMounted: Bool) throws {
            try withProfile(mounted: isMounted ? "rw" : nil) { profile in
                try profile.command("vault", "create", "Taxes").succeed()
                #expect(try names(profile) == ["Personal", "Taxes"])
                if isMounted {
                    #expect(try Files.names(profile.point) == ["Personal", "Taxes"])
                    try Files.write("2025", to: "\(profile.point)/Taxes/file")
                }
                try profile.command("vault", "create", "Taxes").fail(with: 73)
                let info = try profile.command("vault", "info", "Taxes", "--json").succeed()
                    .decode(VaultReport.self)
                #expect(info.name == "Taxes" && info.isOpen && info.epoch == 1 && info.id.count == 32)
                try profile.command("vault", "rename", "Taxes", "Steuern äöü").succeed()
                #expect(try names(profile) == ["Personal", "Steuern äöü"])
                if isMounted {
                    #expect(try Files.names(profile.point) == ["Personal", "Steuern äöü"])
                    #expect(try Files.text("\(profile.point)/Steuern äöü/file") == "2025")
                    #expect(!Files.exists("\(profile.point)/Taxes/file"))
                }
                let renamed = try profile.command("vault", "info", "Steuern äöü", "--json").succeed()
                #expect(try renamed.decode(VaultReport.self).id == info.id)
                try profile.command("vault", "delete", "Steuern äöü", "--yes").succeed()
                #expect(try names(profile) == ["Personal"])
                #expect(!Files.exists("\(profile.home)/vaults/\(info.id)"))
                if isMounted { #expect(try Files.names(profile.point) == ["Personal"]) }
            }
        }

        /// The kernel caches names that were not there, and names that were.
        @Test func mountShowsChangesAtOnce() throws {
            try withMountedProfile { profile in
                let (old, new) = ("\(profile.point)/Old", "\(profile.point)/New")
                for _ in 0..<5 {
                    #expect(!Files.exists(old) && !Files.exists(new))
                    try profile.command("vault", "create", "Old").succeed()
                    #expect(Files.exists(old) && !Files.exists(new))
                    try profile.command("vault", "rename", "Old", "New").succeed()
                    #expect(!Files.exists(old) && Files.exists(new))
                    try profile.command("vault", "delete", "New", "--yes").succeed()
                }
            }
        }

        @Test(arguments: [true, false])
        func wrongNames(isMounted: Bool) throws {
            try withProfile(mounted: isMounted ? "rw" : nil) { profile in
                for name in ["a/b", ".", "..", "", String(repeating: "x", count: 256)] {
                    try profile.command("vault", "create", name).fail(with: 64)
                    try profile.command("vault", "rename", "Personal", name).fail(with: 64)
                }
                try profile.command("vault", "create", String(repeating: "y", count: 255)).succeed()
                for words in [["rename", "None", "Other"], ["delete", "None", "--yes"], ["info", "None"]] {
                    var command = try profile.command("vault")
                    command.arguments.insert(contentsOf: words, at: 1)
                    try command.fail(with: 66)
                }
                try profile.command("check", "None").fail(with: 66)
                try profile.command("vault", "create", "Other").succeed()
                try profile.command("vault", "rename", "Personal", "Other").fail(with: 73)
                #expect(try names(profile).count == 3)
            }
        }

        /// Deleting a vault while files are open in it affects no other vault.
        @Test func deletingAVaultInUse() throws {
            try withMountedProfile { profile in
                try profile.command("vault", "create", "Gone").succeed()
                let path = "\(profile.point)/Gone/file"
                let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
                try Files.append(Array("text".utf8), to: file, path)
                try profile.command("vault", "delete", "Gone", "--yes").succeed()
                var byte: UInt8 = 0
                #expect(pread(file, &byte, 1, 1 << 20) <= 0)
                #expect(write(file, &byte, 1) < 0 || fsync(file) < 0)
                close(file)
                #expect(!Files.exists(path))
                try Files.write("fine", to: profile.path("file"))
                profile.expectsProblems = true
                try profile.remount()
                #expect(try Files.text(profile.path("file")) == "fine")
            }
        }

        @Test(arguments: [true, false])
        func reportsAreJSON(isMounted: Bool) throws {
            try withProfile(mounted: isMounted ? "rw" : nil) { profile in
                let status = try profile.status()
                #expect(status.profile == profile.home && status.name == "tester")
                #expect(status.mountPoint == (isMounted ? profile.point : nil))
                #expect(status.vaults.map(\.name) == ["Personal"])
                let list = try profile.command("vault", "list", "--json").succeed().decode([VaultReport].self)
                #expect(list.map(\.name) == ["Personal"])
                let check = try profile.command("check", "--json").succeed().decode(CheckReport.self)
                #expect(check.vaults.map(\.vault) == ["Personal"] && check.damage.isEmpty)
                let version = try profile.command("version", "--json").run()
                #expect(version.status == 64 || version.output.contains("profileFormat"))
                for words in [["status"], ["vault", "list"], ["vault", "info", "Personal"], ["check"]] {
                    var command = Command(try Programs.coffer(), words + ["--home", profile.home])
                    command.arguments += ["--passphrase-file", profile.passphraseFile]
                    #expect(try command.succeed().output.contains("Personal"), "\(words)")
                }
            }
        }
    }
}
