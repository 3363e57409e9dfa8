internal import CFilesystemCalls
internal import Glibc

let openCases: [PosixCase] = [
    PosixCase("opening a missing name without O_CREAT fails with ENOENT") { box in
        try expectFailure(ENOENT) { try box.open("missing", O_RDONLY) }
    },
    PosixCase("a path through a file fails with ENOTDIR") { box in
        try box.create("file")
        try expectFailure(ENOTDIR) { try box.open("file/below", O_RDONLY) }
        try expectFailure(ENOTDIR) { try box.open("file/", O_RDONLY) }
    },
    PosixCase("opening a directory for writing fails with EISDIR") { box in
        try box.makeDirectory("d")
        try expectFailure(EISDIR) { try box.open("d", O_WRONLY) }
        try expectFailure(EISDIR) { try box.open("d", O_RDWR) }
        try expectFailure(EISDIR) { try box.open("d", O_RDONLY | O_CREAT) }
    },
    PosixCase("O_DIRECTORY opens directories and refuses files with ENOTDIR") { box in
        try box.makeDirectory("d")
        try box.create("file")
        try expectEqual(try box.open("d", O_RDONLY | O_DIRECTORY).status().kind, S_IFDIR, "type")
        try expectFailure(ENOTDIR) { try box.open("file", O_RDONLY | O_DIRECTORY) }
    },
    PosixCase("O_NOFOLLOW refuses a symbolic link with ELOOP and opens a file") { box in
        try box.create("file", "text")
        try box.symlink("file", "link")
        try expectFailure(ELOOP) { try box.open("link", O_RDONLY | O_NOFOLLOW) }
        try expectEqual(try box.open("file", O_RDONLY | O_NOFOLLOW).text(), "text", "contents")
    },
    PosixCase("O_NOFOLLOW follows links in the directories of the path") { box in
        try box.makeDirectory("d")
        try box.create("d/file", "text")
        try box.symlink("d", "link")
        try expectEqual(try box.open("link/file", O_RDONLY | O_NOFOLLOW).text(), "text", "contents")
    },
    PosixCase("O_TRUNC empties a file and advances its times") { box in
        try box.create("file", "text")
        try box.expectTimes("file", advance: [.modified, .changed]) {
            try box.open("file", O_WRONLY | O_TRUNC).close()
        }
        try expectEqual(try box.status("file").size, 0, "size")
    },
    PosixCase("opening for reading changes neither size nor times") { box in
        try box.create("file", "text")
        try box.expectTimes("file", advance: []) { _ = try box.open("file", O_RDONLY).text() }
    },
    PosixCase("a descriptor for reading refuses write, one for writing refuses read with EBADF") { box in
        try box.create("file", "text")
        try expectFailure(EBADF) { try box.open("file", O_RDONLY).write("x") }
        try expectFailure(EBADF) { try box.open("file", O_WRONLY).read(1) }
        try expectFailure(EBADF, EINVAL) { try box.open("file", O_RDONLY).truncate(0) }
    },
    PosixCase("read on a directory fails with EISDIR") { box in
        try box.makeDirectory("d")
        try expectFailure(EISDIR) { try box.open("d", O_RDONLY).read(1) }
    },
    PosixCase("an O_PATH descriptor gives the status, but neither reads nor writes") { box in
        try box.create("file", "text")
        let handle = try box.open("file", LINUX_O_PATH)
        try expectEqual(try handle.status().size, 4, "size")
        try expectFailure(EBADF) { try handle.read(1) }
        try expectFailure(EBADF) { try handle.changeMode(0o600) }
    },
    PosixCase("an O_PATH descriptor reopens through /proc, also after a rename") { box in
        try box.create("file", "text")
        let handle = try box.open("file", LINUX_O_PATH)
        try box.rename("file", "moved")
        let reopened = try Sandbox.open(path: handle.procPath, O_RDWR)
        try reopened.write("TEXT", at: 0)
        try expectEqual(try box.text("moved"), "TEXT", "contents")
    },
    PosixCase("O_PATH with O_NOFOLLOW opens a symbolic link itself") { box in
        try box.symlink("nowhere", "link")
        let handle = try box.open("link", LINUX_O_PATH | O_NOFOLLOW)
        try expectEqual(try handle.status().kind, S_IFLNK, "type")
    },
    PosixCase("two descriptors of one file have positions of their own, duplicates share one") { box in
        try box.create("file", "abcdef")
        let first = try box.open("file")
        let second = try box.open("file")
        let shared = try first.duplicate()
        _ = try first.read(2)
        try expectEqual(try second.read(2), Array("ab".utf8), "second descriptor")
        try expectEqual(try shared.read(2), Array("cd".utf8), "duplicate")
    },
    PosixCase("openat resolves names against a directory descriptor, also after it was renamed") { box in
        try box.makeDirectory("d")
        let directory = try box.open("d", O_RDONLY | O_DIRECTORY)
        try box.rename("d", "moved")
        let number = try check("openat", linux_open(directory.number, "file", O_CREAT | O_WRONLY, 0o644))
        try Descriptor(number).write("text")
        try expectEqual(try box.text("moved/file"), "text", "contents")
    },
    PosixCase("a removed directory held open accepts no new entry (ENOENT)") { box in
        try box.makeDirectory("d")
        let directory = try box.open("d", O_RDONLY | O_DIRECTORY)
        try box.removeDirectory("d")
        try expectFailure(ENOENT) {
            try check("openat", linux_open(directory.number, "file", O_CREAT | O_WRONLY, 0o644))
        }
        try expectEqual(
            linux_count_entries(directory.number, 4096) <= 2, true, "entries are at most the dots")
    },
    PosixCase("300 files are open at once and each keeps its contents") { box in
        let files = try (0..<300).map { try box.open("f\($0)", O_CREAT | O_RDWR) }
        for (index, file) in files.enumerated() { try file.write("\(index)") }
        for (index, file) in files.enumerated() { try expectEqual(try file.text(), "\(index)", "contents") }
    },
]
