internal import Glibc

let renameCases: [PosixCase] = [
    PosixCase("rename moves a file: same inode and contents, the old name is gone") { box in
        try box.create("a", "text")
        let inode = try box.status("a").inode
        try box.rename("a", "b")
        try expectEqual(try box.names(), ["b"], "names")
        try expectEqual(try box.status("b").inode, inode, "inode")
        try expectEqual(try box.text("b"), "text", "contents")
    },
    PosixCase("rename over a file replaces it") { box in
        try box.create("a", "new")
        try box.create("b", "old")
        try box.rename("a", "b")
        try expectEqual(try box.names(), ["b"], "names")
        try expectEqual(try box.text("b"), "new", "contents")
    },
    PosixCase("a file replaced by rename loses one link and stays readable where it is open") { box in
        try box.create("a", "new")
        try box.create("b", "old")
        try box.link("b", "other")
        let open = try box.open("b", O_RDONLY)
        try box.rename("a", "b")
        try expectEqual(try open.text(), "old", "contents of the open file")
        try expectEqual(try open.status().links, 1, "links")
        try expectEqual(try box.text("other"), "old", "contents under its other name")
    },
    PosixCase("rename between two names of one file does nothing") { box in
        try box.create("a", "text")
        try box.link("a", "b")
        try box.rename("a", "b")
        try expectEqual(try box.names(), ["a", "b"], "names")
        try expectEqual(try box.status("a").links, 2, "links")
        try box.rename("a", "a")
        try expectEqual(try box.names(), ["a", "b"], "names")
    },
    PosixCase("rename of a missing name, into a missing directory, through a file") { box in
        try box.create("file")
        try expectFailure(ENOENT) { try box.rename("missing", "x") }
        try expectFailure(ENOENT) { try box.rename("file", "missing/x") }
        try expectFailure(ENOTDIR) { try box.rename("file", "file/x") }
        try expectFailure(ENOTDIR) { try box.rename("file/x", "y") }
    },
    PosixCase("rename of a file over a directory and the reverse fail with EISDIR and ENOTDIR") { box in
        try box.create("file")
        try box.makeDirectory("d")
        try expectFailure(EISDIR) { try box.rename("file", "d") }
        try expectFailure(ENOTDIR) { try box.rename("d", "file") }
        try expectEqual(try box.names(), ["d", "file"], "names")
    },
    PosixCase("a directory replaces an empty directory") { box in
        try box.makeDirectory("a")
        try box.create("a/file", "text")
        try box.makeDirectory("b")
        try box.rename("a", "b")
        try expectEqual(try box.names(), ["b"], "names")
        try expectEqual(try box.text("b/file"), "text", "contents")
    },
    PosixCase("a directory does not replace one with entries (ENOTEMPTY or EEXIST)") { box in
        try box.makeDirectory("a")
        try box.makeDirectory("b")
        try box.create("b/file")
        try expectFailure(ENOTEMPTY, EEXIST) { try box.rename("a", "b") }
        try expectEqual(try box.names("b"), ["file"], "names")
    },
    PosixCase("a directory cannot move into itself or below (EINVAL)") { box in
        try box.makeDirectory("d")
        try box.makeDirectory("d/e")
        try expectFailure(EINVAL) { try box.rename("d", "d/x") }
        try expectFailure(EINVAL) { try box.rename("d", "d/e/x") }
        try expectFailure(EINVAL) { try box.rename("d", "d/e") }
        try expectFailure(ENOTEMPTY, EEXIST, EINVAL) { try box.rename("d/e", "d") }
    },
    PosixCase("dot and dot-dot cannot be renamed") { box in
        try box.makeDirectory("d")
        try expectFailure(EBUSY, EINVAL) { try box.rename("d/.", "x") }
        try expectFailure(EBUSY, EINVAL) { try box.rename("d/..", "x") }
    },
    PosixCase("a moved directory takes its tree, and its dot-dot follows") { box in
        for name in ["a", "b", "a/d", "a/d/e"] { try box.makeDirectory(name) }
        try box.create("a/d/e/file", "text")
        try box.rename("a/d", "b/d")
        try expectEqual(try box.text("b/d/e/file"), "text", "contents")
        try expectEqual(try box.status("b/d/..").inode, try box.status("b").inode, "dot-dot")
        try expectFailure(ENOENT) { try box.status("a/d/e/file") }
    },
    PosixCase("link counts of parents follow a directory that moves, where they are kept") { box in
        for name in ["a", "b", "a/d"] { try box.makeDirectory(name) }
        let links = try box.status("a").links
        // One link says that the filesystem keeps no counts.
        guard links != 1 else { return }
        try expectEqual(links, 3, "links of a parent")
        try box.rename("a/d", "b/d")
        try expectEqual(try box.status("a").links, 2, "links of the old parent")
        try expectEqual(try box.status("b").links, 3, "links of the new parent")
        try box.makeDirectory("b/e")
        try box.rename("b/d", "b/e")
        try expectEqual(try box.status("b").links, 3, "links after replacing a directory")
    },
    PosixCase("rename advances the times of both directories") { box in
        for name in ["a", "b"] { try box.makeDirectory(name) }
        try box.create("a/file")
        try box.expectTimes("a", advance: [.modified, .changed]) {
            try box.expectTimes("b", advance: [.modified, .changed]) { try box.rename("a/file", "b/file") }
        }
    },
    PosixCase("rename leaves the modification time of the file alone") { box in
        try box.create("file")
        let before = try box.status("file").modified
        tick()
        try box.rename("file", "moved")
        try expectEqual(try box.status("moved").modified, before, "modification time")
    },
    PosixCase("a failed rename leaves all times alone") { box in
        for name in ["a", "b", "b/sub"] { try box.makeDirectory(name) }
        try box.expectTimes("", advance: []) {
            try box.expectTimes("a", advance: []) {
                try expectFailure(ENOTEMPTY, EEXIST) { try box.rename("a", "b") }
            }
        }
    },
    PosixCase("an open file follows its renames") { box in
        try box.makeDirectory("d")
        let file = try box.open("a", O_CREAT | O_RDWR)
        for (from, to) in [("a", "b"), ("b", "d/c"), ("d/c", "e")] {
            try box.rename(from, to)
            try file.write("x")
        }
        try expectEqual(try box.text("e"), "xxx", "contents")
    },
    PosixCase("a trailing slash is allowed on directories alone") { box in
        try box.makeDirectory("d")
        try box.create("file")
        try box.rename("d/", "e/")
        try expectFailure(ENOTDIR) { try box.rename("file/", "x") }
        try expectFailure(ENOTDIR) { try box.rename("file", "x/") }
        try expectEqual(try box.names(), ["e", "file"], "names")
    },
    PosixCase("a directory of another user moves to another parent by its owner alone", .root) { box in
        for name in ["a", "b", "a/d"] { try box.makeDirectory(name) }
        for name in ["a", "b"] { try box.changeMode(name, 0o777) }
        try box.changeOwner("a/d", 10_001, 10_001)
        try acting(as: .bob) {
            try expectFailure(EACCES, EPERM) { try box.rename("a/d", "b/d") }
            try box.rename("a/d", "a/e")
        }
        try acting(as: .alice) { try box.rename("a/e", "b/e") }
    },
]
