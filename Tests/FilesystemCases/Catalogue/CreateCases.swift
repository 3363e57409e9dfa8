internal import CFilesystemCalls
internal import Glibc

let createCases: [PosixCase] = [
    PosixCase("O_CREAT makes an empty regular file with the given mode, owner and one link") { box in
        try box.open("file", O_CREAT | O_WRONLY, 0o640).close()
        let status = try box.status("file")
        try expectEqual(status.kind, S_IFREG, "type")
        try expectEqual(status.permissions, 0o640, "mode")
        try expectEqual(status.size, 0, "size")
        try expectEqual(status.links, 1, "links")
        try expectEqual(status.owner, geteuid(), "owner")
    },
    PosixCase("O_CREAT on an existing file opens it as it is") { box in
        try box.create("file", "text", mode: 0o600)
        try expectEqual(try box.open("file", O_CREAT | O_RDWR, 0o777).text(), "text", "contents")
        try expectEqual(try box.status("file").permissions, 0o600, "mode")
    },
    PosixCase("O_CREAT|O_EXCL on an existing name of any type fails with EEXIST") { box in
        try box.create("file")
        try box.makeDirectory("d")
        try box.makeFifo("fifo")
        for name in ["file", "d", "fifo"] {
            try expectFailure(EEXIST) { try box.open(name, O_CREAT | O_EXCL | O_WRONLY) }
        }
    },
    PosixCase("O_CREAT|O_EXCL does not follow a dangling link") { box in
        try box.symlink("target", "link")
        try expectFailure(EEXIST) { try box.open("link", O_CREAT | O_EXCL | O_WRONLY) }
        try expect(!box.exists("target"), "the target was made")
    },
    PosixCase("O_CREAT through a dangling link makes its target") { box in
        try box.symlink("target", "link")
        try box.open("link", O_CREAT | O_WRONLY).close()
        try expectEqual(try box.linkStatus("target").kind, S_IFREG, "type of the target")
        try expectEqual(try box.linkStatus("link").kind, S_IFLNK, "type of the link")
    },
    PosixCase("creating in a missing directory fails with ENOENT") { box in
        try expectFailure(ENOENT) { try box.create("missing/file") }
        try expectFailure(ENOENT) { try box.makeDirectory("missing/d") }
        try expectFailure(ENOENT) { try box.makeFifo("missing/fifo") }
        try expectFailure(ENOENT) { try box.symlink("x", "missing/link") }
    },
    PosixCase("creating below a file fails with ENOTDIR") { box in
        try box.create("file")
        try expectFailure(ENOTDIR) { try box.create("file/file") }
        try expectFailure(ENOTDIR) { try box.makeDirectory("file/d") }
        try expectFailure(ENOTDIR) { try box.makeFifo("file/fifo") }
        try expectFailure(ENOTDIR) { try box.symlink("x", "file/link") }
    },
    PosixCase("the umask takes bits from the mode of files, directories and fifos") { box in
        try withUmask(0o027) {
            try box.create("file", mode: 0o666)
            try box.makeDirectory("d", 0o777)
            try box.makeFifo("fifo", 0o666)
        }
        try expectEqual(try box.status("file").permissions, 0o640, "mode of the file")
        try expectEqual(try box.status("d").permissions, 0o750, "mode of the directory")
        try expectEqual(try box.status("fifo").permissions, 0o640, "mode of the fifo")
    },
    PosixCase("a file made with mode 0 is written through the descriptor that made it") { box in
        let file = try box.open("file", O_CREAT | O_EXCL | O_RDWR, 0)
        try file.write("text")
        try expectEqual(try file.text(), "text", "contents")
        try expectEqual(try box.status("file").permissions, 0, "mode")
    },
    PosixCase("a file made read-only by a user is written through the descriptor that made it", .root) {
        box in
        try box.changeMode("", 0o777)
        try acting(as: .alice) {
            let file = try box.open("file", O_CREAT | O_EXCL | O_RDWR, 0o400)
            try file.write("text")
            try expectEqual(try file.text(), "text", "contents")
            try expectFailure(EACCES) { try box.open("file", O_WRONLY) }
        }
    },
    PosixCase("creating sets all three times of the file and two of its directory") { box in
        try box.makeDirectory("d")
        let before = try box.status("d").changed
        try box.expectTimes("d", advance: [.modified, .changed]) { try box.create("d/file") }
        let status = try box.status("d/file")
        for stamp in Stamp.allCases {
            try expect(stamp.value(status) > before, "the \(stamp) time is old")
        }
    },
    PosixCase("opening an existing file with O_CREAT leaves the directory's times alone") { box in
        try box.makeDirectory("d")
        try box.create("d/file")
        try box.expectTimes("d", advance: []) { try box.open("d/file", O_CREAT | O_RDWR).close() }
    },
    PosixCase("a failed O_EXCL leaves the directory's times alone") { box in
        try box.makeDirectory("d")
        try box.create("d/file")
        try box.expectTimes("d", advance: []) {
            try expectFailure(EEXIST) { try box.open("d/file", O_CREAT | O_EXCL | O_RDWR) }
        }
    },
    PosixCase("inode numbers of files that exist together are distinct and stay") { box in
        let inodes = try (0..<50).map { index in
            try box.create("f\(index)")
            return try box.status("f\(index)").inode
        }
        try expectEqual(Set(inodes).count, 50, "distinct inodes")
        try box.rename("f0", "moved")
        try expectEqual(try box.status("moved").inode, inodes[0], "inode after a rename")
    },
    PosixCase("O_TMPFILE makes a file without a name that linkat names, or is refused") { box in
        let file: Descriptor
        do { file = try box.open("", LINUX_O_TMPFILE | O_RDWR, 0o640) } catch let error as PosixError {
            try expect([EOPNOTSUPP, EISDIR].contains(error.code), "refused with \(error)")
            return
        }
        try file.write("text")
        try expectEqual(try file.status().links, 0, "links before")
        try expectEqual(try box.names(), [], "names before")
        try check("linkat", linkat(AT_FDCWD, file.procPath, AT_FDCWD, box.path("named"), AT_SYMLINK_FOLLOW))
        try expectEqual(try box.text("named"), "text", "contents")
        try expectEqual(try box.status("named").links, 1, "links after")
    },
    PosixCase("two threads creating the same name with O_EXCL: one wins each time", .root) { box in
        try box.changeMode("", 0o777)
        for round in 0..<20 {
            try actingAtOnce(as: [.alice, .alice, .alice, .alice]) { _ in
                do { try box.create("f\(round)") } catch let error as PosixError {
                    try expectEqual(error.code, EEXIST, "the failure of a loser")
                    return
                }
                try box.makeDirectory("won\(round)")
            }
        }
        try expectEqual(try box.names().count, 40, "one winner for each of 20 names")
    },
]
