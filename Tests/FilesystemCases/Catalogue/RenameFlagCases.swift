internal import CFilesystemCalls
internal import Glibc

let renameFlagCases: [PosixCase] = [
    PosixCase("RENAME_NOREPLACE moves to a free name and refuses a taken one with EEXIST") { box in
        try box.create("a", "a")
        try box.create("b", "b")
        try expectFailure(EEXIST) { try box.rename("a", "b", LINUX_RENAME_NOREPLACE) }
        try expectEqual(try box.text("b"), "b", "contents")
        try box.rename("a", "c", LINUX_RENAME_NOREPLACE)
        try expectEqual(try box.names(), ["b", "c"], "names")
    },
    PosixCase("RENAME_NOREPLACE refuses directories and dangling links as targets") { box in
        try box.create("a")
        try box.makeDirectory("d")
        try box.symlink("nothing", "link")
        try expectFailure(EEXIST) { try box.rename("a", "d", LINUX_RENAME_NOREPLACE) }
        try expectFailure(EEXIST) { try box.rename("a", "link", LINUX_RENAME_NOREPLACE) }
        try expectFailure(EEXIST) { try box.rename("a", "a", LINUX_RENAME_NOREPLACE) }
    },
    PosixCase("RENAME_EXCHANGE swaps two files") { box in
        try box.create("a", "a")
        try box.create("b", "b")
        try box.rename("a", "b", LINUX_RENAME_EXCHANGE)
        try expectEqual(try box.text("a"), "b", "contents of a")
        try expectEqual(try box.text("b"), "a", "contents of b")
    },
    PosixCase("RENAME_EXCHANGE swaps a file and a directory with entries") { box in
        try box.create("file", "text")
        try box.makeDirectory("d")
        try box.create("d/inside", "inside")
        try box.rename("file", "d", LINUX_RENAME_EXCHANGE)
        try expectEqual(try box.text("d"), "text", "the file")
        try expectEqual(try box.text("file/inside"), "inside", "the directory")
    },
    PosixCase("RENAME_EXCHANGE across directories keeps dot-dot and link counts right") { box in
        for name in ["a", "b", "a/d"] { try box.makeDirectory(name) }
        try box.create("b/file", "text")
        let links = try box.status("a").links
        try box.rename("a/d", "b/file", LINUX_RENAME_EXCHANGE)
        try expectEqual(try box.status("b/file/..").inode, try box.status("b").inode, "dot-dot")
        try expectEqual(try box.text("a/d"), "text", "contents")
        // One link says that the filesystem keeps no counts.
        guard links != 1 else { return }
        try expectEqual(links, 3, "links of a parent")
        try expectEqual(try box.status("a").links, 2, "links of a")
        try expectEqual(try box.status("b").links, 3, "links of b")
    },
    PosixCase("RENAME_EXCHANGE needs both names (ENOENT) and no ancestor (EINVAL)") { box in
        try box.create("a")
        try box.makeDirectory("d")
        try box.makeDirectory("d/e")
        try expectFailure(ENOENT) { try box.rename("a", "missing", LINUX_RENAME_EXCHANGE) }
        try expectFailure(ENOENT) { try box.rename("missing", "a", LINUX_RENAME_EXCHANGE) }
        try expectFailure(EINVAL) { try box.rename("d", "d/e", LINUX_RENAME_EXCHANGE) }
        try expectFailure(EINVAL) { try box.rename("d/e", "d", LINUX_RENAME_EXCHANGE) }
    },
    PosixCase("RENAME_EXCHANGE with RENAME_NOREPLACE, and unknown flags, fail with EINVAL") { box in
        try box.create("a")
        try box.create("b")
        let both = LINUX_RENAME_EXCHANGE | LINUX_RENAME_NOREPLACE
        try expectFailure(EINVAL) { try box.rename("a", "b", both) }
        try expectFailure(EINVAL) { try box.rename("a", "b", 1 << 20) }
    },
    PosixCase("a reader never misses a name that renames replace all the time", .root) { box in
        try box.changeMode("", 0o777)
        try acting(as: .alice) { try box.create("name", "0") }
        try actingAtOnce(as: [.alice, .bob]) { user in
            for round in 0..<200 {
                if user == .alice {
                    try box.create("new", "\(round)")
                    try box.rename("new", "name")
                } else {
                    try expect(try !box.text("name").isEmpty, "a reader saw an empty file")
                }
            }
        }
    },
]
