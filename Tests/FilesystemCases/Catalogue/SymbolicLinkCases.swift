internal import Glibc

let symbolicLinkCases: [PosixCase] = [
    PosixCase("symlink keeps its text unchanged, and lstat returns its length") { box in
        for (index, target) in ["a", "../x/./y//z", "/absolute/path", "ünïcode \n line", "trailing/"]
            .enumerated()
        {
            try box.symlink(target, "link\(index)")
            try expectEqual(try box.readLink("link\(index)"), target, "target")
            let status = try box.linkStatus("link\(index)")
            try expectEqual(status.size, Int64(target.utf8.count), "size")
            try expectEqual(status.kind, S_IFLNK, "type")
            try expectEqual(status.permissions, 0o777, "mode")
        }
    },
    PosixCase("targets of up to 4,095 bytes are kept, longer ones refused with ENAMETOOLONG") { box in
        for length in [59, 60, 61, 255, 256, 1023, 4000, 4095] {
            let target = String(repeating: "t", count: length)
            try box.symlink(target, "link\(length)")
            try expectEqual(try box.readLink("link\(length)"), target, "target")
        }
        try expectFailure(ENAMETOOLONG) { try box.symlink(String(repeating: "t", count: 4096), "long") }
    },
    PosixCase("an empty target is refused with ENOENT") { box in
        try expectFailure(ENOENT) { try box.symlink("", "link") }
    },
    PosixCase("readlink truncates the text to the size of the buffer") { box in
        try box.symlink("abcdef", "link")
        try expectEqual(try box.readLink("link", capacity: 3), "abc", "target")
    },
    PosixCase("readlink of a file or directory fails with EINVAL, of a missing name with ENOENT") { box in
        try box.create("file")
        try box.makeDirectory("d")
        try expectFailure(EINVAL) { try box.readLink("file") }
        try expectFailure(EINVAL) { try box.readLink("d") }
        try expectFailure(ENOENT) { try box.readLink("missing") }
    },
    PosixCase("symlink over an existing name fails with EEXIST") { box in
        try box.create("file")
        try box.symlink("nothing", "link")
        try expectFailure(EEXIST) { try box.symlink("x", "file") }
        try expectFailure(EEXIST) { try box.symlink("x", "link") }
        try expectEqual(try box.readLink("link"), "nothing", "target")
    },
    PosixCase("a relative target resolves from the directory of the link") { box in
        try box.makeDirectory("d")
        try box.create("file", "above")
        try box.create("d/file", "beside")
        try box.symlink("file", "d/link")
        try box.symlink("../file", "d/up")
        try expectEqual(try box.text("d/link"), "beside", "beside the link")
        try expectEqual(try box.text("d/up"), "above", "above the link")
    },
    PosixCase("an absolute target resolves from the root") { box in
        try box.create("file", "text")
        try box.symlink(box.path("file"), "link")
        try expectEqual(try box.text("link"), "text", "contents")
    },
    PosixCase("links that point at each other fail with ELOOP") { box in
        try box.symlink("b", "a")
        try box.symlink("a", "b")
        try expectFailure(ELOOP) { try box.status("a") }
        try expectFailure(ELOOP) { try box.open("a", O_RDONLY) }
        try expectFailure(ELOOP) { try box.open("a", O_CREAT | O_WRONLY) }
        try expectEqual(try box.linkStatus("a").kind, S_IFLNK, "type")
    },
    PosixCase("forty links in a row resolve, forty-one fail with ELOOP") { box in
        try box.create("l0", "text")
        for index in 1...41 { try box.symlink("l\(index - 1)", "l\(index)") }
        try expectEqual(try box.text("l40"), "text", "contents")
        try expectFailure(ELOOP) { try box.text("l41") }
    },
    PosixCase("unlink removes the link and leaves its target") { box in
        try box.create("file", "text")
        try box.symlink("file", "link")
        try box.unlink("link")
        try expectEqual(try box.names(), ["file"], "names")
    },
    PosixCase("rmdir and mkdir do not follow a link to a directory") { box in
        try box.makeDirectory("d")
        try box.symlink("d", "link")
        try expectFailure(ENOTDIR) { try box.removeDirectory("link") }
        try box.symlink("nothing", "dangling")
        try expectFailure(EEXIST) { try box.makeDirectory("dangling") }
    },
    PosixCase("rename moves the link, not its target") { box in
        try box.create("file", "text")
        try box.symlink("file", "link")
        try box.rename("link", "moved")
        try expectEqual(try box.readLink("moved"), "file", "target")
        try expectEqual(try box.names(), ["file", "moved"], "names")
    },
    PosixCase("rename over a link replaces the link, not its target") { box in
        try box.create("file", "text")
        try box.symlink("file", "link")
        try box.create("other", "other")
        try box.rename("other", "link")
        try expectEqual(try box.text("file"), "text", "the target")
        try expectEqual(try box.linkStatus("link").kind, S_IFREG, "type")
    },
    PosixCase("symlink sets the times of the link and of the directory") { box in
        try box.makeDirectory("d")
        let before = try box.status("d").changed
        try box.expectTimes("d", advance: [.modified, .changed]) { try box.symlink("x", "d/link") }
        try expect(try box.linkStatus("d/link").modified > before, "the time of the link is old")
    },
    PosixCase("making and removing links a hundred times leaves nothing stale") { box in
        for round in 0..<100 {
            try box.symlink("target\(round)", "link")
            try expectEqual(try box.readLink("link"), "target\(round)", "target")
            try box.unlink("link")
        }
    },
]
