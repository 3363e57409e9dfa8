import CFilesystemCalls
import CofferFormat
import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFUSE
@testable import CofferVault

extension LiveMountTests {
    /// `.Trash-UID` at the top of a mount.
    @Suite struct TrashTests {
        private static let name = ".Trash-\(getuid())"

        private func trash(_ mount: LiveMount, _ path: String = "") -> String {
            mount.path("../\(Self.name)/\(path)")
        }

        private func kept(_ mount: LiveMount, _ path: String = "") -> String {
            mount.path("\(Self.name)/\(path)")
        }

        private func status(of program: String, _ arguments: String...) throws -> Int32 {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }

        private func exists(_ path: String) -> Bool { (try? Program.status(path)) != nil }

        private func write(_ text: String, to path: String, _ flags: Int32 = O_RDWR | O_CREAT) throws {
            let file = try Program.opens(path, flags)
            try Program.writes(text, to: file)
            try Program.closes(file)
        }

        private func text(_ path: String) -> String {
            "[Trash Info]\nPath=\(path)\nDeletionDate=2026-11-29T08:28:03\n"
        }

        /// Moves an item into the trash as GLib does: it reserves the name, writes the info file by another name, and
        /// moves the item last.
        private func moveIn(_ name: String, _ mount: LiveMount, as trashName: String? = nil) throws {
            let trashName = trashName ?? name
            let info = trash(mount, "info/\(trashName).trashinfo")
            try Program.closes(Program.opens(info, O_RDWR | O_CREAT | O_EXCL))
            try write(text("vault/\(name)"), to: "\(info).X3A", O_RDWR | O_CREAT | O_EXCL)
            if rename("\(info).X3A", info) != 0 { throw Failed(code: errno) }
            guard rename(mount.path(name), trash(mount, "files/\(trashName)")) == 0 else {
                let code = errno
                #expect(unlink(info) == 0)
                throw Failed(code: code)
            }
        }

        @Test func theFolderIsThereOnlyByName() throws {
            try LiveMount.run { mount in
                let top = mount.path("..")
                let status = try Program.status(trash(mount))
                #expect(status.st_mode == 0o040700 && status.st_uid == getuid())
                #expect(try Program.lists(top) == ["vault"])
                #expect(try Program.lists(trash(mount)) == ["expunged", "files", "info"])
                #expect(try Program.status(trash(mount, "files/..")).st_ino == status.st_ino)
                #expect(try Program.status(trash(mount, "..")).st_ino == 1)
                #expect(code(mkdir("\(top)/\(Self.name)", 0o700)) == EEXIST)
                #expect(code(rmdir("\(top)/\(Self.name)")) == EPERM)
                #expect(code(unlink("\(top)/\(Self.name)")) == EISDIR)
                #expect(code(rename("\(top)/\(Self.name)", "\(top)/x")) == EPERM)
                #expect(code(mkdir(trash(mount, "files"), 0o700)) == EEXIST)
                #expect(code(mkdir(trash(mount, "new"), 0o700)) == EPERM)
                #expect(code(mkdir(trash(mount, "files/new"), 0o700)) == EPERM)
                #expect(code(mkdir(trash(mount, "info/new"), 0o700)) == EPERM)
                #expect(code(rmdir(trash(mount, "files"))) == EPERM)
                #expect(code(chmod(trash(mount), 0o700)) == 0)
                #expect(code(chmod(trash(mount), 0o755)) == EPERM)
                #expect(try code { _ = try Program.status(trash(mount, "none")) } == ENOENT)
                #expect(try code { _ = try Program.status(trash(mount, "files/none")) } == ENOENT)
                // That of others is not here.
                #expect(code(mkdir("\(top)/.Trash-\(getuid() + 1)", 0o700)) == EACCES)
                #expect(code(mkdir("\(top)/.Trash", 0o700)) == EACCES)
                #expect(try Program.lists(mount.path()) == [])
            }
        }

        @Test func aFileGoesIntoTheVaultsTrashAndComesBack() throws {
            try LiveMount.run { mount in
                try write("content", to: mount.path("file"))
                let number = try Program.status(mount.path("file")).st_ino
                try moveIn("file", mount)
                #expect(try Program.lists(mount.path()) == [Self.name])
                #expect(try Program.lists(kept(mount, "files")) == ["file"])
                #expect(try Program.lists(kept(mount, "info")) == ["file.trashinfo"])
                #expect(try Program.status(kept(mount)).st_mode == 0o040700)
                // A path in the vault's trash begins in the vault, one at the top at the top.
                #expect(try Program.reads(kept(mount, "info/file.trashinfo")) == text("file"))
                #expect(try Program.reads(trash(mount, "info/file.trashinfo")) == text("vault/file"))
                #expect(try Program.lists(trash(mount, "info")) == ["file.trashinfo"])
                #expect(try Program.lists(trash(mount, "files")) == ["file"])
                #expect(try Program.reads(trash(mount, "files/file")) == "content")
                #expect(try Program.status(trash(mount, "files/file")).st_ino == number)
                #expect(rename(trash(mount, "files/file"), mount.path("file")) == 0)
                #expect(unlink(trash(mount, "info/file.trashinfo")) == 0)
                #expect(try Program.reads(mount.path("file")) == "content")
                #expect(try Program.status(mount.path("file")).st_ino == number)
                for part in ["files", "info"] {
                    #expect(try Program.lists(trash(mount, part)) == [])
                    #expect(eventually { (try? Program.lists(kept(mount, part))) == [] })
                }
            }
        }

        @Test func aDirectoryGoesAndIsDeletedAsGnomeDoes() throws {
            try LiveMount.run { mount in
                #expect(mkdir(mount.path("folder"), 0o755) == 0)
                try write("a", to: mount.path("folder/a"))
                // The kernel knows the vault's own trash, too.
                #expect(!exists(kept(mount, "files/folder")))
                try moveIn("folder", mount)
                #expect(eventually { (try? Program.reads(kept(mount, "files/folder/a"))) == "a" })
                #expect(try Program.reads(trash(mount, "files/folder/a")) == "a")
                #expect(code(mkdir(trash(mount, "expunged"), 0o700)) == EEXIST)
                #expect(rename(trash(mount, "files/folder"), trash(mount, "expunged/17")) == 0)
                #expect(unlink(trash(mount, "info/folder.trashinfo")) == 0)
                #expect(try Program.lists(trash(mount, "expunged")) == ["17"])
                #expect(code(rmdir(trash(mount, "expunged/17"))) == ENOTEMPTY)
                #expect(unlink(trash(mount, "expunged/17/a")) == 0)
                #expect(rmdir(trash(mount, "expunged/17")) == 0)
                #expect(try Program.lists(trash(mount, "expunged")) == [])
                #expect(eventually { !exists(kept(mount, "files/folder")) })
            }
        }

        /// Each way to an item sees at once what another way has done.
        @Test func bothWaysAgree() throws {
            try LiveMount.run { mount in
                for name in ["a", "b", "c"] {
                    try write(name, to: mount.path(name))
                    try moveIn(name, mount)
                    #expect(try Program.reads(kept(mount, "files/\(name)")) == name)
                    #expect(try Program.reads(trash(mount, "files/\(name)")) == name)
                }
                let number = try Int64(Program.status(kept(mount, "files/a")).st_ino & (1 << 48 - 1))
                #expect(unlink(trash(mount, "files/a")) == 0)
                #expect(eventually { !exists(kept(mount, "files/a")) })
                #expect(mount.isGone(number), "its content is freed")
                #expect(unlink(kept(mount, "files/b")) == 0)
                #expect(!exists(trash(mount, "files/b")))
                #expect(try Program.lists(trash(mount, "files")) == ["c"])
                #expect(rename(kept(mount, "files/c"), mount.path("c")) == 0)
                #expect(!exists(trash(mount, "files/c")))
                #expect(try Program.lists(trash(mount, "files")) == [])
                #expect(eventually { (try? Program.lists(kept(mount, "files"))) == [] })
            }
        }

        @Test func changesFromElsewhereShow() throws {
            try LiveMount.run { mount in
                try write("a", to: mount.path("a"))
                try moveIn("a", mount)
                #expect(try Program.reads(trash(mount, "files/a")) == "a")
                let elsewhere = Elsewhere(mount)
                let files = try elsewhere.number("files", in: elsewhere.number(Self.name))
                let infos = try elsewhere.number("info", in: elsewhere.number(Self.name))
                try elsewhere.removes("a", in: files)
                try elsewhere.removes("a.trashinfo", in: infos)
                try elsewhere.makes("b", "b", in: files)
                try elsewhere.makes("b.trashinfo", text("b"), in: infos)
                #expect(try Program.lists(trash(mount, "files")) == ["b"])
                #expect(!exists(trash(mount, "files/a")) && !exists(trash(mount, "info/a.trashinfo")))
                #expect(try Program.reads(trash(mount, "info/b.trashinfo")) == text("vault/b"))
                // One that has changed since it was read is another file to the kernel, also with the same size.
                try elsewhere.append(text("c"), to: elsewhere.number("b.trashinfo", in: infos), at: 0)
                #expect(try Program.reads(trash(mount, "info/b.trashinfo")) == text("vault/c"))
            }
        }

        @Test func aNameIsReserved() throws {
            try LiveMount.run { mount in
                let info = trash(mount, "info/a.trashinfo")
                try write("draft", to: info)
                #expect(try code { _ = try Program.opens(info, O_RDWR | O_CREAT | O_EXCL) } == EEXIST)
                #expect(try Program.reads(info) == "draft")
                // Until the item comes, no vault has it.
                #expect(try Program.lists(mount.path()) == [])
                #expect(try Program.lists(trash(mount, "info")) == ["a.trashinfo"])
                #expect(unlink(info) == 0 && !exists(info))
                // Where an item was does not depend on what the program wrote.
                try write("0", to: mount.path("own"))
                try write(text("Other/secret"), to: trash(mount, "info/own.trashinfo"))
                #expect(rename(mount.path("own"), trash(mount, "files/own")) == 0)
                #expect(try Program.reads(kept(mount, "info/own.trashinfo")) == text("own"))
                #expect(unlink(trash(mount, "files/own")) == 0)
                #expect(unlink(trash(mount, "info/own.trashinfo")) == 0)
                try write("1", to: mount.path("a"))
                try moveIn("a", mount)
                try write("2", to: mount.path("a"))
                #expect(try code { try moveIn("a", mount) } == EEXIST)
                try moveIn("a", mount, as: "a.2")
                #expect(try Program.lists(trash(mount, "files")) == ["a", "a.2"])
                #expect(try Program.reads(trash(mount, "info/a.2.trashinfo")) == text("vault/a"))
                // An item without an info file has its name, too.
                #expect(unlink(trash(mount, "info/a.trashinfo")) == 0)
                #expect(try code { _ = try Program.opens(info, O_RDWR | O_CREAT | O_EXCL) } == EEXIST)
                try write("3", to: mount.path("a"))
                #expect(code(rename(mount.path("a"), trash(mount, "files/a"))) == EEXIST)
                #expect(try Program.reads(mount.path("a")) == "3")
                #expect(try Program.reads(trash(mount, "files/a")) == "1")
            }
        }

        @Test func draftsAreSmallFiles() throws {
            try LiveMount.run { mount in
                let path = trash(mount, "info/x")
                let file = try Program.opens(path, O_RDWR | O_CREAT)
                try Program.writes("0123456789", to: file)
                try Program.truncates(file, to: 4)
                try Program.writes("ab", to: file, at: 6)
                try Program.syncs(file)
                #expect(try Program.reads(file) == "0123\0\0ab")
                #expect(try Program.status(path).st_size == 8)
                #expect(code(fchmod(file, 0o600)) == 0)
                #expect(try Program.status(path).st_mode == 0o100600)
                #expect(code(ftruncate(file, 1 << 20)) == EFBIG)
                // A name that goes leaves the open file.
                #expect(unlink(path) == 0)
                #expect(try Program.reads(file) == "0123\0\0ab")
                #expect(try Program.status(file).st_nlink == 0)
                try Program.closes(file)
                var opened = 0
                let code = try code {
                    while opened < 2000 {
                        try Program.closes(Program.opens(trash(mount, "info/\(opened)"), O_RDWR | O_CREAT))
                        opened += 1
                    }
                }
                #expect(code == ENOSPC && opened >= 1000)
                for number in 0..<opened { #expect(unlink(trash(mount, "info/\(number)")) == 0) }
                // The kernel may say later that it has forgotten them.
                #expect(eventually { (try? write("", to: path)) != nil })
                #expect(try Program.lists(trash(mount, "info")) == ["x"])
            }
        }

        @Test func aMoveThatFailsLeavesNothing() throws {
            try LiveMount.run { mount in
                #expect(try code { try moveIn("none", mount) } == ENOENT)
                #expect(try Program.lists(trash(mount, "info")) == [])
                // A vault is no file.
                #expect(code(rename(mount.path("../vault"), trash(mount, "files/vault"))) == EPERM)
                // Nor does the trash go into itself.
                try write("a", to: mount.path("a"))
                try moveIn("a", mount)
                try write(text("vault/\(Self.name)"), to: trash(mount, "info/t.trashinfo"))
                #expect(code(rename(mount.path(Self.name), trash(mount, "files/t"))) == EINVAL)
                #expect(try Program.lists(kept(mount, "info")) == ["a.trashinfo"])
                #expect(try Program.reads(trash(mount, "info/t.trashinfo")) == text("vault/\(Self.name)"))
                #expect(code(linux_rename(trash(mount, "files/a"), mount.path("a"), 2)) == ENOENT)
                try write("b", to: mount.path("b"))
                #expect(code(linux_rename(mount.path("b"), trash(mount, "files/a"), 2)) == EOPNOTSUPP)
                #expect(code(rename(mount.path("b"), trash(mount, "info/b.trashinfo"))) == EPERM)
                #expect(code(rename(trash(mount, "info/a.trashinfo"), mount.path("c"))) == EXDEV)
                #expect(code(link(mount.path("b"), trash(mount, "files/b"))) == EXDEV)
                #expect(try Program.reads(mount.path("b")) == "b")
            }
        }

        /// What a vault keeps cannot be changed at the top, where it has another text.
        @Test func keptInfoFilesCannotBeWritten() throws {
            try LiveMount.run { mount in
                try write("a", to: mount.path("a"))
                try moveIn("a", mount)
                let info = trash(mount, "info/a.trashinfo")
                #expect(try Program.status(info).st_mode & 0o222 == 0)
                #expect(code(truncate(info, 0)) == EPERM)
                #expect(code(chmod(info, 0o777)) == EPERM)
                try write("draft", to: trash(mount, "info/b.trashinfo"))
                #expect(code(rename(trash(mount, "info/b.trashinfo"), info)) == EEXIST)
                #expect(code(rename(info, trash(mount, "info/c.trashinfo"))) == EPERM)
                #expect(code(linux_set_attribute(info, "user.x", "1", 1, 0)) == EOPNOTSUPP)
                #expect(linux_get_attribute(info, "user.x", nil, 0) == -1 && errno == ENODATA)
                #expect(linux_list_attributes(info, nil, 0) == 0)
                // A program that copies it gets all of it.
                #expect(try status(of: "/bin/cp", info, mount.path("copy")) == 0)
                #expect(try Program.reads(mount.path("copy")) == text("vault/a"))
                #expect(try Program.reads(kept(mount, "info/a.trashinfo")) == text("a"))
            }
        }

        /// Another member can put anything into the vault's trash.
        @Test func forgedTrashIsNotUsed() throws {
            try LiveMount.run { mount in
                try write("a", to: mount.path("a"))
                #expect(symlink("/tmp", kept(mount, "").trimmingSlash) == 0)
                #expect(try code { try moveIn("a", mount) } == EACCES)
                #expect(try Program.lists(trash(mount, "files")) == [])
                #expect(unlink(kept(mount, "").trimmingSlash) == 0)
                #expect(mkdir(kept(mount), 0o755) == 0 && mkdir(kept(mount, "info"), 0o755) == 0)
                #expect(symlink("/", kept(mount, "info/l.trashinfo")) == 0)
                #expect(mkdir(kept(mount, "info/d.trashinfo"), 0o755) == 0)
                try write("", to: kept(mount, "info/big.trashinfo"))
                #expect(truncate(kept(mount, "info/big.trashinfo"), 1 << 30) == 0)
                try write("none", to: kept(mount, "info/x"))
                #expect(!exists(trash(mount, "info/x")))
                // They show nothing, and go like all others.
                for name in ["l", "d", "big"] {
                    let info = trash(mount, "info/\(name).trashinfo")
                    let shown = try Program.reads(info)
                    #expect(shown.hasPrefix("[Trash Info]\nPath=vault/trash-"), "\(name)")
                    #expect(try Program.status(info).st_size == shown.utf8.count)
                    #expect(unlink(info) == 0 && !exists(info))
                    #expect(eventually { !exists(kept(mount, "info/\(name).trashinfo")) })
                }
                try moveIn("a", mount)
                #expect(try Program.reads(trash(mount, "files/a")) == "a")
                guard getuid() == 0 else { return }
                #expect(chown(kept(mount), 12345, 0) == 0)
                #expect(try Program.lists(trash(mount, "files")) == [])
                try write("b", to: mount.path("b"))
                #expect(try code { try moveIn("b", mount) } == EACCES)
            }
        }

        @Test func aLargeTrashIsListedInFull() throws {
            try LiveMount.run { mount in
                let names = (0..<1000).map { "file \($0)" }
                for name in names {
                    try write("", to: mount.path(name))
                    try moveIn(name, mount)
                }
                #expect(try Program.lists(trash(mount, "files")) == names.sorted())
                #expect(try Program.lists(trash(mount, "info")) == names.map { "\($0).trashinfo" }.sorted())
                // A program that deletes what it lists leaves nothing out.
                let files = trash(mount, "files")
                #expect(try status(of: "/bin/rm", "-r", files) != 0, "the directory itself stays")
                #expect(try Program.lists(trash(mount, "files")) == [])
            }
        }

        @Test func thePastIsNoTrash() throws {
            try LiveMount.run { mount in
                try mount.vault.history.set(.forever)
                try write("a", to: mount.path("a"))
                let hidden = mount.path(".coffer")
                #expect(code(rename(hidden, trash(mount, "files/past"))) == EROFS)
                try moveIn("a", mount)
                #expect(code(rename(trash(mount, "files/a"), hidden)) == EISDIR)
                #expect(code(rename(trash(mount, "files/a"), "\(hidden)/history/a")) == EROFS)
                #expect(try Program.reads(trash(mount, "files/a")) == "a")
            }
        }
    }
}

extension String {
    /// A path without a slash at its end, so that it leads to a symbolic link itself.
    fileprivate var trimmingSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
