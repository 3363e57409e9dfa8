internal import Glibc

let directoryCases: [PosixCase] = [
    PosixCase("mkdir makes an empty directory with the given mode") { box in
        try box.makeDirectory("d", 0o750)
        try expectEqual(try box.status("d").kind, S_IFDIR, "type")
        try expectEqual(try box.status("d").permissions, 0o750, "mode")
        try expectEqual(try box.names("d"), [], "names")
    },
    PosixCase("mkdir over an existing name of any type fails with EEXIST") { box in
        try box.create("file")
        try box.makeDirectory("d")
        try box.symlink("d", "link")
        for name in ["file", "d", "link"] { try expectFailure(EEXIST) { try box.makeDirectory(name) } }
        try expectFailure(EEXIST) { try box.makeDirectory("d/.") }
        try expectFailure(EEXIST) { try box.makeDirectory("d/..") }
    },
    PosixCase("mkdir advances the times of the parent and adds a link to it, where links are counted") {
        box in
        try box.makeDirectory("d")
        let links = try box.status("d").links
        try box.expectTimes("d", advance: [.modified, .changed]) { try box.makeDirectory("d/e") }
        if links == 2 { try expectEqual(try box.status("d").links, 3, "links") }
        try box.expectTimes("d", advance: [.modified, .changed]) { try box.removeDirectory("d/e") }
        try expectEqual(try box.status("d").links, links, "links at the end")
    },
    PosixCase("rmdir refuses a directory with entries (ENOTEMPTY or EEXIST)") { box in
        try box.makeDirectory("d")
        try box.symlink("nothing", "d/link")
        try expectFailure(ENOTEMPTY, EEXIST) { try box.removeDirectory("d") }
        try box.unlink("d/link")
        try box.removeDirectory("d")
        try expect(!box.exists("d"), "the directory is still there")
    },
    PosixCase("rmdir of a file fails with ENOTDIR, of a missing name with ENOENT") { box in
        try box.create("file")
        try expectFailure(ENOTDIR) { try box.removeDirectory("file") }
        try expectFailure(ENOENT) { try box.removeDirectory("missing") }
    },
    PosixCase("rmdir of dot fails with EINVAL, of dot-dot with ENOTEMPTY") { box in
        try box.makeDirectory("d")
        try expectFailure(EINVAL) { try box.removeDirectory("d/.") }
        try expectFailure(ENOTEMPTY, EEXIST) { try box.removeDirectory("d/..") }
    },
    PosixCase("unlink of a directory fails with EISDIR, of a missing name with ENOENT") { box in
        try box.makeDirectory("d")
        try box.create("file")
        try expectFailure(EISDIR, EPERM) { try box.unlink("d") }
        try expectFailure(ENOENT) { try box.unlink("missing") }
        try expectFailure(ENOTDIR) { try box.unlink("file/x") }
        try expectFailure(ENOTDIR) { try box.unlink("file/") }
    },
    PosixCase("dot and dot-dot are listed, and lead to the directory and its parent") { box in
        try box.makeDirectory("d")
        let stream = try DirectoryStream(box.path("d"))
        var names: Set<String> = []
        while let entry = try stream.next() { names.insert(entry.name) }
        try expectEqual(names, [".", ".."], "names")
        try expectEqual(try box.status("d/.").inode, try box.status("d").inode, "dot")
        try expectEqual(try box.status("d/..").inode, try box.status("").inode, "dot-dot")
    },
    PosixCase("readdir returns the same type and inode as lstat") { box in
        try box.create("file")
        try box.makeDirectory("d")
        try box.symlink("x", "link")
        try box.makeFifo("fifo")
        let types: [mode_t: Int32] = [S_IFREG: 8, S_IFDIR: 4, S_IFLNK: 10, S_IFIFO: 1]
        for entry in try DirectoryStream(box.root).rest() {
            let status = try box.linkStatus(entry.name)
            try expectEqual(entry.inode, status.inode, "inode of \(entry.name)")
            try expect(entry.type == 0 || entry.type == types[status.kind], "type of \(entry.name)")
        }
    },
    PosixCase("a deep tree of a hundred directories is made, walked and removed") { box in
        var path = "d"
        try box.makeDirectory(path)
        for _ in 0..<100 {
            path += "/d"
            try box.makeDirectory(path)
        }
        try box.create("\(path)/file", "deep")
        try expectEqual(try box.text("\(path)/file"), "deep", "contents")
        try box.unlink("\(path)/file")
        while !path.isEmpty {
            try box.removeDirectory(path)
            path = String(path.dropLast(2))
        }
        try expectEqual(try box.names(), [], "names")
    },
    PosixCase("a name can be reused repeatedly by files of other types") { box in
        for _ in 0..<20 {
            try box.create("name", "text")
            try expectEqual(try box.status("name").kind, S_IFREG, "type")
            try box.unlink("name")
            try box.makeDirectory("name")
            try expectEqual(try box.status("name").kind, S_IFDIR, "type")
            try box.removeDirectory("name")
            try box.symlink("x", "name")
            try expectEqual(try box.linkStatus("name").kind, S_IFLNK, "type")
            try box.unlink("name")
        }
    },
    PosixCase("a missing name that was looked up is found once it is made") { box in
        for round in 0..<20 {
            try expectFailure(ENOENT) { try box.status("name\(round)") }
            try box.create("name\(round)")
            _ = try box.status("name\(round)")
            try box.unlink("name\(round)")
            try expectFailure(ENOENT) { try box.status("name\(round)") }
        }
    },
    PosixCase("four users make and remove entries in one directory at once", .root) { box in
        try box.changeMode("", 0o777)
        try actingAtOnce(as: [.alice, .bob, .nobody, User(uid: 10_003, gid: 10_003)]) { user in
            for round in 0..<60 {
                let name = "u\(user.uid)-\(round)"
                try box.create(name)
                try box.rename(name, "\(name)-moved")
                if round % 2 == 0 { try box.unlink("\(name)-moved") }
            }
        }
        try expectEqual(try box.names().count, 120, "names")
    },
]
