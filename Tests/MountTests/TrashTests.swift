import CFilesystemCalls
import Foundation
import Testing

extension MountTests {
    /// The trash of desktops, in mounts of several vaults.
    @Suite struct TrashTests {
        private static let name = ".Trash-\(getuid())"

        private func trash(_ profile: MountedProfile, _ path: String) -> String {
            "\(profile.point)/\(Self.name)/\(path)"
        }

        private func moveIn(_ path: String, _ profile: MountedProfile, as name: String) throws {
            let info = trash(profile, "info/\(name).trashinfo")
            try Files.write("[Trash Info]\nPath=\(path)\nDeletionDate=2026-11-29T08:28:03\n", to: info)
            try Files.move("\(profile.point)/\(path)", to: trash(profile, "files/\(name)"))
        }

        private func path(_ profile: MountedProfile, _ name: String) throws -> String? {
            try Files.text(trash(profile, "info/\(name).trashinfo")).split(separator: "\n")
                .first { $0.hasPrefix("Path=") }.map { String($0.dropFirst(5)) }
        }

        /// GLib, which file managers use, finds the trash and its way back.
        @Test(.enabled(if: Machine.has("gio"), "there is no gio(1) here"))
        func gio() throws {
            try withMountedProfile { profile in
                try Files.makeDirectory("\(profile.point)/Other")
                let files = [profile.path("ü x%"), "\(profile.point)/Other/ü x%"]
                for file in files { try Files.write(file, to: file) }
                try Files.makeDirectory(profile.path("folder"))
                try Files.write("in it", to: profile.path("folder/a"))
                var command = Command(
                    try #require(Machine.path("gio")), ["trash"] + files + [profile.path("folder")])
                // Not that of the user who runs the tests.
                command.environment["HOME"] = profile.home
                try command.succeed()
                #expect(try Files.names(profile.point) == ["Other", "Personal"])
                #expect(try Files.names(profile.vault) == [Self.name])
                #expect(try Files.names(trash(profile, "files")).sorted() == ["folder", "ü x%", "ü x%.2"])
                #expect(try path(profile, "ü x%") == "Personal/%C3%BC%20x%25")
                #expect(try path(profile, "ü x%.2") == "Other/%C3%BC%20x%25")
                #expect(try Files.text("\(profile.point)/Other/\(Self.name)/files/ü x%.2") == files[1])
                #expect(try Files.text("\(profile.vault)/\(Self.name)/files/folder/a") == "in it")
                // A vault is no file: no program may offer to delete it instead, as for EXDEV.
                command.arguments = ["trash", "\(profile.point)/Other"]
                #expect(try command.run().status != 0)
                #expect(
                    try errorNumber {
                        try Files.move("\(profile.point)/Other", to: trash(profile, "files/o"))
                    } == EPERM)
                try profile.remount()
                #expect(try path(profile, "folder") == "Personal/folder")
                try Files.move(trash(profile, "files/folder"), to: profile.path("folder"))
                try Files.remove(trash(profile, "info/folder.trashinfo"))
                #expect(try Files.text(profile.path("folder/a")) == "in it")
            }
        }

        @Test func eachVaultKeepsItsOwn() throws {
            try withMountedProfile { profile in
                try Files.makeDirectory("\(profile.point)/Other")
                try Files.write("mine", to: profile.path("a"))
                try Files.write("other", to: "\(profile.point)/Other/b")
                try moveIn("Personal/a", profile, as: "a")
                try moveIn("Other/b", profile, as: "b")
                // What was put in the trash on another device has any name.
                try Files.move(
                    "\(profile.point)/Other/\(Self.name)/files/b",
                    to: "\(profile.point)/Other/\(Self.name)/files/a")
                try Files.move(
                    "\(profile.point)/Other/\(Self.name)/info/b.trashinfo",
                    to: "\(profile.point)/Other/\(Self.name)/info/a.trashinfo")
                let both = ["a (Other)", "a (Personal)"]
                #expect(try Files.names(trash(profile, "files")).sorted() == both)
                #expect(try Files.names(trash(profile, "info")).sorted() == both.map { "\($0).trashinfo" })
                // Which one it would be depends on what other devices do.
                #expect(try errorNumber { _ = try Files.text(trash(profile, "files/a")) } == ENOENT)
                #expect(try Files.text(trash(profile, "files/a (Other)")) == "other")
                #expect(try path(profile, "a (Other)") == "Other/b")
                #expect(
                    try errorNumber {
                        try Files.move(trash(profile, "files/a (Other)"), to: profile.path("b"))
                    } == EXDEV)
                #expect(
                    try errorNumber {
                        try Files.move(trash(profile, "files/a (Other)"), to: trash(profile, "files/a"))
                    } == EEXIST)
                // The vault gets another name, and so does the path.
                try profile.command("vault", "rename", "Other", "New").succeed()
                #expect(try path(profile, "a (New)") == "New/b")
                #expect(try errorNumber { _ = try Files.text(trash(profile, "files/a (Other)")) } == ENOENT)
                try Files.move(trash(profile, "files/a (New)"), to: "\(profile.point)/New/b")
                try Files.remove(trash(profile, "info/a (New).trashinfo"))
                #expect(try Files.text("\(profile.point)/New/b") == "other")
                #expect(try Files.names(trash(profile, "files")) == ["a"])
                #expect(try Files.text(trash(profile, "files/a")) == "mine")
                #expect(try path(profile, "a") == "Personal/a")
                try Files.remove(trash(profile, "files/a"))
                try Files.remove(trash(profile, "info/a.trashinfo"))
                #expect(try Files.names(trash(profile, "files")) == [])
                let left = try Files.all(below: profile.vault)
                #expect(!left.contains { $0.hasSuffix("/a") || $0.hasSuffix("trashinfo") }, "\(left)")
            }
        }

        /// Also where vaults have items of one name, and names to which nothing can be added.
        @Test func allOfItCanBeEmptied() throws {
            try withMountedProfile { profile in
                try Files.makeDirectory("\(profile.point)/Other")
                let long = String(repeating: "x", count: 250)
                for vault in ["Personal", "Other"] {
                    let own = "\(profile.point)/\(vault)/\(Self.name)"
                    for directory in ["", "/files", "/info"] {
                        try Files.makeDirectory(own + directory, mode: 0o700)
                    }
                    for name in (0..<200).map({ "file \($0)" }) + ["\(long)\(vault.first ?? "-")"] {
                        try Files.write(vault, to: "\(own)/files/\(name)")
                    }
                    try Files.write("[Trash Info]\nPath=a\n", to: "\(own)/info/file 0.trashinfo")
                }
                let names = try Files.names(trash(profile, "files"))
                #expect(names.count == 402 && Set(names).count == 402)
                for name in names { try Files.remove(trash(profile, "files/\(name)")) }
                for name in try Files.names(trash(profile, "info")) {
                    try Files.remove(trash(profile, "info/\(name)"))
                }
                for vault in ["Personal", "Other"] {
                    let own = "\(profile.point)/\(vault)/\(Self.name)"
                    #expect(
                        try Files.all(below: own).filter { $0.contains("file ") || $0.contains(long) } == [])
                }
            }
        }

        @Test func aReadOnlyMountHasTheTrashToLookAt() throws {
            try withMountedProfile { profile in
                try Files.write("a", to: profile.path("a"))
                try Files.write("b", to: profile.path("b"))
                try moveIn("Personal/a", profile, as: "a")
                try profile.remount("ro")
                #expect(try Files.text(trash(profile, "files/a")) == "a")
                #expect(try path(profile, "a") == "Personal/a")
                #expect(try errorNumber { try moveIn("Personal/b", profile, as: "b") } == EROFS)
                #expect(try errorNumber { try Files.remove(trash(profile, "files/a")) } == EROFS)
                try profile.remount()
            }
        }
    }
}
