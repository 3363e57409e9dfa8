import CFilesystemCalls
import CofferFormat
import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFUSE
@testable import CofferVault

extension LiveMountTests {
    /// `.coffer/history` in the root of a vault.
    @Suite struct PastTests {
        @Test func theDirectoryIsThereOnlyByName() throws {
            try LiveMount.run { mount in
                let hidden = mount.path(".coffer")
                #expect(try code { _ = try Program.status(hidden) } == ENOENT)
                try mount.vault.history.set(.forever)
                // The kernel has not kept that it was absent.
                #expect(try Program.status(hidden).st_mode == 0o040555)
                #expect(try Program.status("\(hidden)/history").st_mode == 0o040555)
                #expect(try Program.lists(mount.path()) == [])
                #expect(try Program.lists(hidden) == ["history"])
                #expect(try Program.status("\(hidden)/history/..").st_ino == Program.status(hidden).st_ino)
                #expect(try Program.status("\(hidden)/..").st_ino == Program.status(mount.path()).st_ino)
                #expect(try Program.status(mount.path()).st_nlink == 2)
                #expect(try code { _ = try Program.status("\(hidden)/none") } == ENOENT)
                #expect(code(rmdir(hidden)) == EROFS)
                #expect(code(rename(hidden, mount.path("other"))) == EROFS)
                #expect(code(mkdir("\(hidden)/new", 0o755)) == EROFS)
                #expect(code(mkdir("\(hidden)/history/2026-11-20", 0o755)) == EROFS)
                #expect(code(chmod(hidden, 0o700)) == EROFS)
                #expect(code(mkdir(hidden, 0o755)) == EEXIST)
                let elsewhere = Elsewhere(mount)
                try elsewhere.makes("file", "text")
                for directory in [hidden, "\(hidden)/history"] {
                    #expect(code(rename(mount.path("file"), "\(directory)/file")) == EROFS)
                    #expect(code(link(mount.path("file"), "\(directory)/file")) == EROFS)
                    #expect(code(rename("\(directory)/file", mount.path("other"))) == ENOENT)
                }
                // Nor does anything take its place.
                #expect(mkdir(mount.path("folder"), 0o755) == 0)
                #expect(code(rename(mount.path("folder"), hidden)) == EROFS)
                #expect(code(linux_rename(mount.path("folder"), hidden, 2)) == EROFS)
                #expect(code(linux_rename(hidden, mount.path("folder"), 2)) == EROFS)
                #expect(try Program.lists(hidden) == ["history"])
                #expect(rmdir(mount.path("folder")) == 0)
                try elsewhere.removes("file")
                try mount.session.withoutPast(of: 1) { () throws(FileSystemError) in
                    try mount.vault.history.set(.none)
                }
                #expect(try code { _ = try Program.status(hidden) } == ENOENT)
            }
        }

        /// Another member may have made it, to replace the past.
        @Test func anEntryOfThatNameIsNotSeen() throws {
            try LiveMount.run { mount in
                let hidden = mount.path(".coffer")
                #expect(mkdir(hidden, 0o755) == 0)
                #expect(mkdir("\(hidden)/own", 0o755) == 0)
                #expect(try Program.lists(mount.path()) == [".coffer"])
                func turn(_ retention: History.Retention) throws {
                    try mount.session.withoutPast(of: 1) { () throws(FileSystemError) in
                        try mount.vault.history.set(retention)
                    }
                }
                try turn(.forever)
                #expect(try Program.lists(mount.path()) == [])
                #expect(try Program.lists(hidden) == ["history"])
                #expect(code(rmdir(hidden)) == EROFS)
                #expect(code(rename(hidden, mount.path("other"))) == EROFS)
                // One that arrives now, neither.
                let elsewhere = Elsewhere(mount)
                try elsewhere.removesDirectory("own", in: elsewhere.number(".coffer"))
                try elsewhere.removesDirectory(".coffer")
                try elsewhere.makesDirectory(".coffer")
                #expect(try Program.lists(hidden) == ["history"])
                #expect(try Program.lists(mount.path()) == [])
                try turn(.none)
                #expect(try Program.lists(mount.path()) == [".coffer"])
                #expect(try Program.lists(hidden) == [])
                #expect(rmdir(hidden) == 0)
            }
        }

        /// Who may enter the vault by its ACL may enter its past.
        @Test func theAccessListOfTheRoot() throws {
            try PastStory.run { story in
                let fileSystem = story.mount.session.fileSystem
                let name = ExtendedAttributeName.accessList
                #expect(try fileSystem.extendedAttributeNames(of: .hidden(in: 1)) == [])
                // user::rwx, user:1000:r-x, group::---, mask::r-x, other::---
                var list: [UInt8] = [2, 0, 0, 0]
                for (tag, rights, id) in [
                    (1, 7, UInt32.max), (2, 5, 1000), (4, 0, .max), (16, 5, .max), (32, 0, .max),
                ] as [(UInt8, UInt8, UInt32)] {
                    list += [tag, 0, rights, 0]
                    list += (0..<4).map { UInt8(truncatingIfNeeded: id >> ($0 * 8)) }
                }
                try story.vault.setExtendedAttribute(name, of: Vault.rootNumber, to: list, .any) { nil }
                for node in [Node.hidden(in: 1), .history(in: 1)] {
                    #expect(try fileSystem.extendedAttribute(name, of: node) == list)
                    #expect(try fileSystem.extendedAttributeNames(of: node) == [name])
                    #expect(try fileSystem.attributes(of: node).mode == 0o040550)
                }
            }
        }

        /// A rename that waits in the root of a vault has its lock, as the kernel needs it to forget names there.
        @Test func noRequestWaitsUntilThePastIsForgotten() throws {
            try PastStory.run { story in
                let mount = story.mount
                for name in ["file", "moved"] { try story.writes("text", to: name) }
                _ = try Program.status(mount.path(".coffer"))
                let file = try Program.opens(mount.path("file"), O_RDONLY)
                let (from, to) = (mount.path("moved"), mount.path("other"))
                mount.vault.holdNames()
                let renamed = Condition(false)
                let program = try CofferSystem.Thread.start("renames") {
                    rename(from, to)
                    renamed.update { $0 = true }
                }
                #expect(eventually { mount.handedOverCount == 1 })
                mount.session.forgetPast()
                let found = Condition<Int?>(nil)
                let seeker = try CofferSystem.Thread.start("seeks") {
                    let end = lseek(file, 0, LINUX_SEEK_HOLE)
                    found.update { $0 = end }
                }
                let end = found.wait(nanoseconds: 60_000_000_000) { $0 }
                let wasRenamed = renamed.withLock { $0 }
                mount.vault.releaseNames()
                program.join()
                seeker.join()
                #expect(end == 4)
                #expect(!wasRenamed)
                try Program.closes(file)
            }
        }

        /// Whatever the remote does.
        @Test func readsThatWaitKeepNoListingWaiting() throws {
            try PastStory.run { story in
                try story.writes("text", to: "file")
                let past = try story.keeps()
                try story.writes("later", to: "file")
                let isOver = Condition(false)
                for _ in 0..<20 {
                    story.mount.session.pastReads.perform { _ = isOver.wait { $0 ? true : nil } }
                }
                let listed = Condition<[String]?>(nil)
                let program = try CofferSystem.Thread.start("lists") {
                    let names = try? Program.lists(past)
                    listed.update { $0 = names ?? [] }
                }
                let names = listed.wait(nanoseconds: 60_000_000_000) { $0 }
                isOver.update { $0 = true }
                program.join()
                #expect(names == ["file"])
            }
        }

        @Test func statesAreListedByTime() throws {
            try PastStory.run { story in
                #expect(try Program.lists(story.history) == [])
                var names: [String] = []
                for round in 0..<4 {
                    try story.writes("\(round)", to: "file")
                    names.append(try story.keeps())
                    // The listing is read again, although the kernel has the one before.
                    #expect(try Program.lists(story.history).count == round + 1)
                }
                try story.writes("last", to: "file")
                let listed = try Program.lists(story.history)
                #expect(listed.count == 5 && Set(listed).count == 5)
                // The first one is the state before the first file.
                #expect(try Program.lists("\(story.history)/\(listed[0])") == [])
                for (round, name) in listed.dropFirst().enumerated() {
                    #expect(try Program.reads("\(story.history)/\(name)/file") == "\(round)")
                    #expect(try Program.reads("\(names[round])/file") == "\(round)")
                }
            }
        }

        @Test func timesLeadToStates() throws {
            try PastStory.run { story in
                try story.writes("first", to: "file")
                _ = try story.keeps()
                // A name without a fraction means the whole second.
                Thread.sleep(forTimeInterval: 1.1)
                let time = Clock.realTime / 1_000_000_000
                Thread.sleep(forTimeInterval: 1.1)
                try story.writes("second", to: "file")
                let local = PastTime.forms(of: time * 1_000_000_000)
                for name in [local[0], local[1], local[0].replacingOccurrences(of: "T", with: " "), "2s"] {
                    #expect(try Program.reads("\(story.history)/\(name)/file") == "first")
                }
                for name in ["now", "0s", "2200-01-01"] {
                    #expect(try Program.reads("\(story.history)/\(name)/file") == "second")
                }
                for name in ["1999-01-01", "2026-13-01", "soon", "900w", "a\u{FF}", "x", ".x"] {
                    #expect(try code { _ = try Program.status("\(story.history)/\(name)") } == ENOENT)
                }
                // The present state is at most a second old.
                for text in ["third", "third again"] {
                    try story.writes(text, to: "file")
                    #expect(eventually { (try? Program.reads("\(story.history)/now/file")) == text })
                }
                // A state that was the present one stays as it was.
                let directory = open("\(story.history)/now", O_RDONLY | O_DIRECTORY)
                defer { close(directory) }
                try story.writes("fourth", to: "file")
                let file = openat(directory, "file", O_RDONLY)
                #expect(try Program.reads(file) == "third again")
                try Program.closes(file)
            }
        }

        @Test func aStateHasOneSlotAsLongAsTheKernelKnowsIt() throws {
            try PastStory.run { story in
                try story.writes("first", to: "file")
                let first = try story.keeps()
                try story.writes("second", to: "file")
                let second = try story.keeps()
                try story.writes("third", to: "file")
                #expect(try Program.status(first).st_ino == 0xFFFF_0000_0000_0001)
                let listed = try Program.lists(story.history)
                #expect(
                    try Program.status("\(story.history)/\(listed[1])").st_ino == 0xFFFF_0000_0000_0001)
                #expect(try Program.status(second).st_ino == 0xFFFE_0000_0000_0001)
                #expect(story.past.slots == [0xFFFF, 0xFFFE])
                let file = try Program.opens("\(first)/file", O_RDONLY)
                story.kernelForgets()
                #expect(eventually { story.past.slots == [0xFFFF] })
                #expect(story.past.viewCount == 1)
                #expect(try Program.reads(file) == "first")
                try Program.closes(file)
                // The kernel has no path to what it could not forget before.
                _ = try Program.status("\(first)/file")
                story.kernelForgets()
                #expect(eventually { story.past.slots.isEmpty })
                // The slot comes again late.
                #expect(try Program.status(second).st_ino == 0xFFFD_0000_0000_0001)
            }
        }

        @Test func theTreeIsAsItWas() throws {
            try PastStory.run { story in
                let mount = story.mount
                #expect(mkdir(mount.path("folder"), 0o750) == 0)
                #expect(mkdir(mount.path("folder/inner"), 0o711) == 0)
                try story.writes("text", to: "folder/file")
                #expect(link(mount.path("folder/file"), mount.path("other")) == 0)
                #expect(symlink("folder/file", mount.path("link")) == 0)
                #expect(linux_set_attribute(mount.path("folder/file"), "user.colour", "blue", 4, 0) == 0)
                #expect(chmod(mount.path("folder/file"), 0o640) == 0)
                #expect(truncate(mount.path("folder/file"), 100_000) == 0)
                let before = try Program.status(mount.path("folder/file"))
                let past = try story.keeps()
                #expect(unlink(mount.path("other")) == 0)
                #expect(rename(mount.path("folder"), mount.path("elsewhere")) == 0)
                #expect(linux_remove_attribute(mount.path("elsewhere/file"), "user.colour") == 0)
                try story.writes("changed", to: "elsewhere/file")
                #expect(try Program.lists(past) == ["folder", "link", "other"])
                #expect(try Program.lists("\(past)/folder") == ["file", "inner"])
                let status = try Program.status("\(past)/folder/file")
                #expect(status.st_mode == before.st_mode && status.st_size == 100_000)
                #expect(status.st_mtim.tv_nsec == before.st_mtim.tv_nsec && status.st_nlink == 2)
                #expect(try Program.status("\(past)/other").st_ino == status.st_ino)
                #expect(status.st_ino != before.st_ino)
                let text = try Program.reads("\(past)/other", count: 100_000)
                #expect(text == "text" + String(repeating: "\0", count: 99_996))
                var target = [CChar](repeating: 0, count: 100)
                #expect(readlink("\(past)/link", &target, 100) == 11)
                #expect(try Program.reads("\(past)/link", count: 4) == "text")
                var value = [CChar](repeating: 0, count: 100)
                #expect(linux_get_attribute("\(past)/other", "user.colour", &value, 100) == 4)
                #expect(code(linux_get_attribute("\(past)/link/x", "user.colour", &value, 100)) == ENOTDIR)
                #expect(code(linux_get_attribute("\(past)/folder", "user.colour", &value, 100)) == ENODATA)
                #expect(linux_list_attributes("\(past)/other", &value, 100) == 12)
                #expect(try Program.status("\(past)/folder/inner").st_mode == 0o040711)
                // As the kernel asks for it when a directory is exported.
                let inner = try Program.status("\(past)/folder/inner").st_ino
                let parent = try mount.session.fileSystem.lookup([46, 46], in: Node(number: UInt64(inner)))
                #expect(UInt(parent.0.number) == (try Program.status("\(past)/folder").st_ino))
                let file = try Program.opens("\(past)/other", O_RDONLY)
                #expect(lseek(file, 5, LINUX_SEEK_DATA) == 5 && lseek(file, 5, LINUX_SEEK_HOLE) == 100_000)
                #expect(code(lseek(file, 100_000, LINUX_SEEK_DATA)) == ENXIO)
                #expect(fsync(file) == 0)
                try Program.closes(file)
            }
        }

        /// A listing takes many requests, and goes on at the right place.
        @Test func aLargeDirectory() throws {
            try PastStory.run { story in
                #expect(mkdir(story.mount.path("folder"), 0o755) == 0)
                let names = (0..<3000).map { "a name that is long enough \($0)" }
                for name in names {
                    try Program.closes(Program.opens(story.mount.path("folder/\(name)"), O_CREAT | O_RDWR))
                }
                let past = try story.keeps()
                for name in names where name.hasSuffix("7") {
                    #expect(unlink(story.mount.path("folder/\(name)")) == 0)
                }
                let directory = try #require(opendir("\(past)/folder"))
                _ = readdir(directory)
                #expect(story.past.listedCount == 3000)
                closedir(directory)
                #expect(try Program.lists("\(past)/folder") == names.sorted())
                // What has been read to its end is not kept.
                #expect(story.past.listedCount == 0)
                #expect(try Program.lists("\(past)/folder") == names.sorted())
                let node = Node(number: UInt64(try Program.status("\(past)/folder").st_ino))
                #expect(story.mount.session.listingEnds.withLock { $0.end(of: node) } == nil)
            }
        }

        @Test func changesAreRefused() throws {
            try PastStory.run { story in
                let mount = story.mount
                try story.writes("text", to: "file")
                try story.writes("own", to: "present")
                #expect(mkdir(mount.path("folder"), 0o777) == 0)
                #expect(symlink("x", mount.path("link")) == 0)
                let past = try story.keeps()
                try story.writes("later", to: "file")
                let (file, new) = ("\(past)/file", "\(past)/new")
                #expect(try code { _ = try Program.opens(new, O_CREAT | O_RDWR) } == EROFS)
                #expect(try code { _ = try Program.opens(file, O_TRUNC | O_RDWR) } == EROFS)
                #expect(code(mkdir(new, 0o755)) == EROFS)
                #expect(code(symlink("x", new)) == EROFS)
                #expect(code(mknod(new, S_IFIFO | 0o644, 0)) == EROFS)
                #expect(code(unlink(file)) == EROFS)
                #expect(code(rmdir("\(past)/folder")) == EROFS)
                #expect(code(rename(file, new)) == EROFS)
                #expect(code(rename(file, mount.path("new"))) == EXDEV)
                #expect(code(rename(mount.path("present"), new)) == EXDEV)
                #expect(code(link(file, new)) == EROFS)
                #expect(code(link(file, mount.path("new"))) == EXDEV)
                #expect(code(link(mount.path("present"), new)) == EROFS)
                #expect(code(chmod(file, 0o600)) == EROFS)
                #expect(code(chown(file, 1, 1)) == EROFS)
                #expect(code(lchown("\(past)/link", 1, 1)) == EROFS)
                #expect(code(utimensat(AT_FDCWD, file, nil, 0)) == EROFS)
                #expect(code(truncate(file, 1)) == EROFS)
                #expect(code(linux_set_attribute(file, "user.a", "b", 1, 0)) == EROFS)
                #expect(code(linux_remove_attribute(file, "user.a")) == EROFS)
                let present = try Program.opens(mount.path("present"))
                var (from, to): (Int64, Int64) = (0, 0)
                let before = try Program.status(file).st_mtim
                // The kernel copies by itself.
                let open = try Program.opens(file)
                #expect(linux_copy_file_range(open, &from, present, &to, 4) == 4)
                #expect(code(ftruncate(open, 100)) == EROFS)
                close(open)
                try Program.closes(present)
                // The kernel changes the times before it asks.
                let changes: [(Int32) -> Int] = [
                    { Int(linux_fallocate($0, 0, 0, 100)) }, { Int(linux_fallocate($0, 3, 0, 100)) },
                    { target in
                        (from, to) = (0, 0)
                        let source = try? Program.opens(mount.path("present"), O_RDONLY)
                        defer { source.map { _ = close($0) } }
                        return linux_copy_file_range(source ?? -1, &from, target, &to, 3)
                    },
                ]
                for change in changes {
                    let open = try Program.opens(file)
                    #expect(code(change(open)) == EROFS)
                    let after = try Program.status(file).st_mtim
                    #expect(after.tv_sec == before.tv_sec && after.tv_nsec == before.tv_nsec)
                    close(open)
                }
                #expect(try Program.reads(file) == "text")
                #expect(try Program.reads(mount.path("present")) == "text")
                #expect(try Program.lists(past) == ["file", "folder", "link", "present"])
            }
        }

        @Test func severalStatesAtOnce() throws {
            try PastStory.run { story in
                var states: [String] = []
                for round in 0..<8 {
                    try story.writes(String(repeating: "\(round)", count: 200_000), to: "file")
                    states.append(try story.keeps())
                }
                try story.writes("", to: "file")
                let failures = RankedMutex(0, rank: .leaf)
                DispatchQueue.concurrentPerform(iterations: 32) { [states] index in
                    let text = try? Program.reads("\(states[index % 8])/file", count: 300_000)
                    if text != String(repeating: "\(index % 8)", count: 200_000) {
                        failures.withLock { $0 += 1 }
                    }
                }
                #expect(failures.withLock { $0 } == 0)
            }
        }
    }
}
