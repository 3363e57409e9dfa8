internal import Glibc

let hardLinkCases: [PosixCase] = [
    PosixCase("link gives a file a second name: same inode, two links, same contents") { box in
        try box.create("file", "text")
        try box.link("file", "link")
        try expectEqual(try box.status("link").inode, try box.status("file").inode, "inode")
        try expectEqual(try box.status("file").links, 2, "links")
        try expectEqual(try box.text("link"), "text", "contents")
    },
    PosixCase("removing one name leaves the other with one link") { box in
        try box.create("file", "text")
        try box.link("file", "link")
        try box.unlink("file")
        try expectEqual(try box.status("link").links, 1, "links")
        try expectEqual(try box.text("link"), "text", "contents")
    },
    PosixCase("mode, owner and times are those of the file, whichever name changes them") { box in
        try box.create("file")
        try box.makeDirectory("d")
        try box.link("file", "d/link")
        try box.changeMode("d/link", 0o611)
        let time = Timestamp(seconds: 1_000_000_000, nanoseconds: 1)
        try box.setTimes("file", accessed: time, modified: time)
        try expectEqual(try box.status("file").permissions, 0o611, "mode")
        try expectEqual(try box.status("d/link").modified, time, "modification time")
    },
    PosixCase("a truncation through one name is seen through the other at once") { box in
        try box.create("file", "abcdef")
        try box.link("file", "link")
        _ = try box.status("link")
        try box.truncate("file", 3)
        try expectEqual(try box.status("link").size, 3, "size")
        try expectEqual(try box.text("link"), "abc", "contents")
    },
    PosixCase("link advances the change time of the file, and both times of the directory") { box in
        try box.create("file")
        try box.makeDirectory("d")
        try box.expectTimes("d", advance: [.modified, .changed]) {
            try box.expectTimes("file", advance: [.changed]) { try box.link("file", "d/link") }
        }
    },
    PosixCase("unlink advances the change time of a file with names left, and the directory's times") { box in
        try box.makeDirectory("d")
        try box.create("d/file")
        try box.link("d/file", "link")
        try box.expectTimes("d", advance: [.modified, .changed]) {
            try box.expectTimes("link", advance: [.changed]) { try box.unlink("d/file") }
        }
    },
    PosixCase("link to an existing name fails with EEXIST, whatever it is") { box in
        try box.create("file", "a")
        try box.create("other", "b")
        try box.makeDirectory("d")
        try box.symlink("nothing", "dangling")
        for name in ["file", "other", "d", "dangling"] {
            try expectFailure(EEXIST) { try box.link("file", name) }
        }
        try expectEqual(try box.status("file").links, 1, "links")
    },
    PosixCase("link to a directory fails with EPERM") { box in
        try box.makeDirectory("d")
        try expectFailure(EPERM) { try box.link("d", "link") }
    },
    PosixCase("link of a missing name, into a missing directory, through a file") { box in
        try box.create("file")
        try expectFailure(ENOENT) { try box.link("missing", "link") }
        try expectFailure(ENOENT) { try box.link("file", "missing/link") }
        try expectFailure(ENOTDIR) { try box.link("file", "file/link") }
        try expectFailure(ENOTDIR) { try box.link("file/x", "link") }
    },
    PosixCase("link of a symbolic link names the link itself") { box in
        try box.create("file", "text")
        try box.symlink("file", "symbolic")
        try box.link("symbolic", "hard")
        try expectEqual(try box.linkStatus("hard").kind, S_IFLNK, "type")
        try expectEqual(try box.linkStatus("symbolic").links, 2, "links")
        try expectEqual(try box.readLink("hard"), "file", "target")
    },
    PosixCase("linkat with AT_SYMLINK_FOLLOW names the target") { box in
        try box.create("file", "text")
        try box.symlink("file", "symbolic")
        try check(
            "linkat", linkat(AT_FDCWD, box.path("symbolic"), AT_FDCWD, box.path("hard"), AT_SYMLINK_FOLLOW))
        try expectEqual(try box.linkStatus("hard").inode, try box.status("file").inode, "inode")
    },
    PosixCase("fifos have hard links, too") { box in
        try box.makeFifo("fifo")
        try box.link("fifo", "link")
        try expectEqual(try box.status("link").kind, S_IFIFO, "type")
        try expectEqual(try box.status("fifo").links, 2, "links")
    },
    PosixCase("a hundred names in several directories, all counted, all removed") { box in
        try box.create("file", "text")
        for index in 0..<4 { try box.makeDirectory("d\(index)") }
        for index in 0..<100 { try box.link("file", "d\(index % 4)/l\(index)") }
        try expectEqual(try box.status("file").links, 101, "links")
        for index in 0..<100 { try box.unlink("d\(index % 4)/l\(index)") }
        try expectEqual(try box.status("file").links, 1, "links at the end")
    },
    PosixCase("a name that was removed links anew") { box in
        try box.create("file", "one")
        try box.create("other", "two")
        for _ in 0..<10 {
            try box.link("file", "name")
            try expectEqual(try box.text("name"), "one", "contents")
            try box.unlink("name")
            try box.link("other", "name")
            try expectEqual(try box.text("name"), "two", "contents")
            try box.unlink("name")
        }
    },
    PosixCase("link needs write permission in the new directory", .root) { box in
        try box.makeDirectory("d")
        try box.create("file")
        try box.changeOwner("file", 10_001, 10_001)
        try acting(as: .alice) { try expectFailure(EACCES) { try box.link("file", "d/link") } }
        try box.changeMode("d", 0o777)
        try acting(as: .alice) { try box.link("file", "d/link") }
        try expectEqual(try box.status("d/link").owner, 10_001, "owner")
    },
]
