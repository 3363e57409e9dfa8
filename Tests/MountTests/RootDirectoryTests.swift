import CFilesystemCalls
import Foundation
import Testing

extension MountTests {
    /// The root of a mount: it contains the vaults as directories, and nothing else.
    @Suite struct RootDirectoryTests {
        @Test func directoriesAreVaults() throws {
            try withMountedProfile { profile in
                let (taxes, steuern) = ("\(profile.point)/Taxes", "\(profile.point)/Steuern")
                try Files.makeDirectory(taxes)
                #expect(try profile.command("vault", "list").succeed().lines == ["Personal", "Taxes"])
                try Files.write("2025", to: "\(taxes)/file")
                try Files.move(taxes, to: steuern)
                #expect(try profile.command("vault", "list").succeed().lines == ["Personal", "Steuern"])
                #expect(try Files.text("\(steuern)/file") == "2025")
                #expect(try errorNumber { try Files.removeDirectory(steuern) } == ENOTEMPTY)
                try profile.remount()
                #expect(try Files.text("\(steuern)/file") == "2025")
                try Files.remove("\(steuern)/file")
                try Files.removeDirectory(steuern)
                #expect(try profile.command("vault", "list").succeed().lines == ["Personal"])
                #expect(try Files.names("\(profile.home)/vaults").count == 1)
            }
        }

        @Test func filesAreRefused() throws {
            try withMountedProfile { profile in
                let path = "\(profile.point)/file"
                #expect(try errorNumber { try Files.write("", to: path) } == EPERM)
                #expect(try errorNumber { try Files.check(symlink("x", path), path) } == EPERM)
                #expect(try errorNumber { try Files.check(mkfifo(path, 0o644), path) } == EPERM)
                try Files.write("", to: profile.path("file"))
                #expect(
                    try errorNumber { try Files.check(link(profile.path("file"), path), path) } == EXDEV
                        || !Files.exists(path))
                #expect(try Files.names(profile.point) == ["Personal"])
            }
        }

        /// Directories that desktops make at the root of a file system become no vaults.
        @Test func dotNamesAreRefused() throws {
            try withMountedProfile { profile in
                for name in [".Trash", ".Trash-1001", ".xdp-abc", ".x"] {
                    #expect(
                        try errorNumber { try Files.makeDirectory("\(profile.point)/\(name)") } == EACCES,
                        "\(name)")
                    let path = "\(profile.point)/\(name)"
                    #expect(try errorNumber { try Files.move(profile.vault, to: path) } == EACCES, "\(name)")
                }
                #expect(try Files.names(profile.point) == ["Personal"])
                // The commands follow the same rule.
                let create = try profile.command("vault", "create", ".hidden").fail(with: 64)
                #expect(create.error.contains("no dot at the beginning"), "\(create.error)")
                try profile.command("vault", "rename", "Personal", ".hidden").fail(with: 64)
                #expect(try Files.names(profile.point) == ["Personal"])
                try Files.makeDirectory(profile.path(".Trash-1001"))
            }
        }

        @Test func existingAndMissingNames() throws {
            try withMountedProfile { profile in
                let none = "\(profile.point)/None"
                try Files.makeDirectory("\(profile.point)/Other")
                #expect(try errorNumber { try Files.makeDirectory(profile.vault) } == EEXIST)
                #expect(try errorNumber { try Files.removeDirectory(none) } == ENOENT)
                #expect(try errorNumber { try Files.remove(none) } == ENOENT)
                #expect(try errorNumber { try Files.remove(profile.vault) } == EISDIR)
                #expect(try errorNumber { try Files.move(none, to: "\(none)2") } == ENOENT)
                #expect(
                    try errorNumber { try Files.move(profile.vault, to: "\(profile.point)/Other") } == EEXIST)
                let long = "\(profile.point)/\(String(repeating: "x", count: 256))"
                #expect(try errorNumber { try Files.makeDirectory(long) } == ENAMETOOLONG)
                let bytes: [CChar] = Array("\(profile.point)/".utf8CString.dropLast()) + [-1, -2, 0]
                #expect(mkdir(bytes, 0o755) != 0 && errno == EINVAL, "a name that is no text")
                #expect(try Files.names(profile.point) == ["Other", "Personal"])
            }
        }

        @Test func nothingMovesBetweenVaults() throws {
            try withMountedProfile { profile in
                let other = "\(profile.point)/Other"
                try Files.makeDirectory(other)
                try Files.write("mine", to: profile.path("file"))
                try Files.makeDirectory(profile.path("directory"))
                for name in ["file", "directory"] {
                    #expect(
                        try errorNumber { try Files.move(profile.path(name), to: "\(other)/\(name)") }
                            == EXDEV)
                    #expect(
                        try errorNumber { try Files.move(profile.path(name), to: "\(profile.point)/\(name)") }
                            == EXDEV)
                }
                #expect(try errorNumber { try Files.move(other, to: profile.path("other")) } == EXDEV)
                let source = profile.path("file")
                #expect(try errorNumber { try Files.check(link(source, "\(other)/file"), source) } == EXDEV)
                #expect(
                    linux_rename(source, "\(other)/file", LINUX_RENAME_NOREPLACE) != 0 && errno == EXDEV)
                #expect(try Files.names(other) == [])
                // mv(1) then copies.
                try Command("/bin/mv", [source, profile.path("directory"), other]).succeed()
                #expect(try Files.text("\(other)/file") == "mine")
                #expect(try Files.names(profile.vault) == [])
            }
        }

        /// To a file system, names are bytes.
        @Test func namesThatLookAlike() throws {
            try withMountedProfile { profile in
                let (composed, decomposed) = ("\(profile.point)/\u{e9}", "\(profile.point)/e\u{301}")
                try Files.makeDirectory(composed)
                try Files.write("1", to: "\(composed)/file")
                #expect(!Files.exists(decomposed))
                try Files.makeDirectory(decomposed)
                #expect(try Files.names(decomposed) == [])
                try Files.removeDirectory(decomposed)
                try Files.move(composed, to: decomposed)
                try profile.remount()
                #expect(!Files.exists(composed))
                #expect(try Files.text("\(decomposed)/file") == "1")
            }
        }

        @Test func manyVaults() throws {
            try withMountedProfile { profile in
                let names = (10..<40).map { "Vault \($0)" }
                for name in names { try Files.makeDirectory("\(profile.point)/\(name)") }
                #expect(try Files.names(profile.point) == ["Personal"] + names)
                for name in names { try Files.write(name, to: "\(profile.point)/\(name)/file") }
                try profile.remount()
                for name in names { #expect(try Files.text("\(profile.point)/\(name)/file") == name) }
                for name in names {
                    try Files.remove("\(profile.point)/\(name)/file")
                    try Files.removeDirectory("\(profile.point)/\(name)")
                }
                #expect(try Files.names(profile.point) == ["Personal"])
                var status = stat()
                #expect(stat(profile.point, &status) == 0)
                #expect(status.st_nlink == 3)
            }
        }
    }
}
