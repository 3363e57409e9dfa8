internal import Glibc

let unlinkedCases: [PosixCase] = [
    PosixCase("a removed file that is open can still be read and written") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write("before")
        try box.unlink("file")
        try file.write(" after")
        try expectEqual(try file.text(), "before after", "contents")
        try expectEqual(try file.status().links, 0, "links")
        try expectEqual(try file.status().size, 12, "size")
        try expectEqual(try box.names(), [], "names: nothing takes its place")
    },
    PosixCase("a removed file held open is truncated, grown, mapped and given a mode and times") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write(pattern(10_000))
        try box.unlink("file")
        try file.truncate(5000)
        try file.truncate(8192)
        try file.changeMode(0o640)
        let time = Timestamp(seconds: 1_000_000_000, nanoseconds: 7)
        try file.setTimes(accessed: time, modified: time)
        let status = try file.status()
        try expectEqual(status.size, 8192, "size")
        try expectEqual(status.permissions, 0o640, "mode")
        try expectEqual(status.modified, time, "modification time")
        try expectEqual(
            try Mapping(file, length: 8192).read(5000), Array(pattern(10_000)[..<5000]), "mapped bytes")
        try file.synchronise()
    },
    PosixCase("a new file of the same name is another file") { box in
        let old = try box.open("file", O_CREAT | O_RDWR)
        try old.write("old")
        try box.unlink("file")
        try box.create("file", "new")
        try expectEqual(try old.text(), "old", "the old one")
        try expectEqual(try box.text("file"), "new", "the new one")
        try old.write("OLD", at: 0)
        try expectEqual(try box.text("file"), "new", "the new one after a write to the old one")
        try expect(try old.status().inode != box.status("file").inode, "both have one inode")
    },
    PosixCase("a removed file reopens through /proc/self/fd") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write("text")
        try box.unlink("file")
        let again = try Sandbox.open(path: file.procPath, O_RDWR)
        try expectEqual(try again.text(), "text", "contents")
        try again.write("TEXT", at: 0)
        try expectEqual(try file.text(), "TEXT", "contents through the first")
    },
    PosixCase("the directory of a removed open file can be removed, and the file stays readable") { box in
        try box.makeDirectory("d")
        let file = try box.open("d/file", O_CREAT | O_RDWR)
        try file.write("text")
        try box.unlink("d/file")
        try box.removeDirectory("d")
        try expectEqual(try file.text(), "text", "contents")
    },
    PosixCase("a file replaced by rename stays readable where it is open") { box in
        try box.create("a", "old")
        let file = try box.open("a", O_RDWR)
        for round in 0..<10 {
            try box.create("new", "new\(round)")
            try box.rename("new", "a")
            try expectEqual(try file.text(), "old", "the old one")
            try expectEqual(try box.text("a"), "new\(round)", "the new one")
        }
        try expectEqual(try file.status().links, 0, "links")
    },
    PosixCase("a hundred removed open files keep their contents apart") { box in
        let files = try (0..<100).map { index in
            let file = try box.open("file", O_CREAT | O_EXCL | O_RDWR)
            try file.write("file \(index)")
            try box.unlink("file")
            return file
        }
        for (index, file) in files.enumerated() {
            try expectEqual(try file.text(), "file \(index)", "contents")
        }
    },
    PosixCase("unlink of an open file with another name: that name sees writes through the descriptor") {
        box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try box.link("file", "other")
        try box.unlink("file")
        try file.write("text")
        try expectEqual(try box.text("other"), "text", "contents")
        try expectEqual(try file.status().links, 1, "links")
    },
    PosixCase("a removed file without links gets no new name by linkat of its descriptor (ENOENT)") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try box.unlink("file")
        try expectFailure(ENOENT) {
            try check("linkat", linkat(AT_FDCWD, file.procPath, AT_FDCWD, box.path("x"), AT_SYMLINK_FOLLOW))
        }
    },
    PosixCase("the space of a removed file comes back after its last close", .holes) { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write(pattern(1 << 20))
        try file.synchronise()
        try settleBlocks(of: "file", in: box)
        try box.unlink("file")
        try expect(try file.status().blocks >= 2000, "the blocks went before the close")
        try file.close()
    },
]
