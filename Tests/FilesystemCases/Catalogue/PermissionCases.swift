internal import Glibc

let permissionCases: [PosixCase] = [
    PosixCase("chmod sets the twelve bits and reads them back") { box in
        try box.create("file")
        try box.makeDirectory("d")
        for mode: mode_t in [0, 0o7777, 0o1644, 0o2755, 0o4711, 0o600] {
            try box.changeMode("file", mode)
            try box.changeMode("d", mode)
            try expectEqual(try box.status("file").permissions, mode, "mode of the file")
            try expectEqual(try box.status("d").permissions, mode, "mode of the directory")
            try expectEqual(try box.status("d").kind, S_IFDIR, "type of the directory")
        }
    },
    PosixCase("fchmod and chmod through a symbolic link change the target") { box in
        try box.create("file")
        try box.symlink("file", "link")
        try box.open("file").changeMode(0o611)
        try expectEqual(try box.status("file").permissions, 0o611, "after fchmod")
        try box.changeMode("link", 0o622)
        try expectEqual(try box.status("file").permissions, 0o622, "after chmod of the link")
    },
    PosixCase("chmod advances the change time alone") { box in
        try box.create("file")
        try box.expectTimes("", advance: []) {
            try box.expectTimes("file", advance: [.changed]) { try box.changeMode("file", 0o600) }
        }
    },
    PosixCase("chmod by a stranger fails with EPERM and changes nothing", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 10_001, 10_001)
        try box.expectTimes("file", advance: []) {
            try acting(as: .bob) { try expectFailure(EPERM) { try box.changeMode("file", 0o777) } }
        }
        try acting(as: .alice) { try box.changeMode("file", 0o700) }
        try expectEqual(try box.status("file").permissions, 0o700, "mode")
    },
    PosixCase("chmod of a missing name fails with ENOENT, through a file with ENOTDIR") { box in
        try box.create("file")
        try expectFailure(ENOENT) { try box.changeMode("missing", 0o600) }
        try expectFailure(ENOTDIR) { try box.changeMode("file/x", 0o600) }
    },
    PosixCase("a descriptor opened before chmod keeps its access", .root) { box in
        try box.create("file", "text")
        try box.changeMode("file", 0o666)
        let file = try acting(as: .bob) { try box.open("file") }
        try box.changeMode("file", 0)
        try acting(as: .bob) {
            try expectEqual(try file.text(), "text", "contents")
            try file.write("TEXT", at: 0)
            try expectFailure(EACCES) { try box.open("file", O_RDONLY) }
        }
    },
    PosixCase("a directory without search permission hides what is in it", .root) { box in
        try box.makeDirectory("d", 0o700)
        try box.create("d/file", "text")
        try box.changeMode("d", 0o644)
        try acting(as: .bob) {
            try expectFailure(EACCES) { try box.open("d/file", O_RDONLY) }
            try expectFailure(EACCES) { try box.status("d/file") }
            try expectFailure(EACCES) { try box.status("d/missing") }
            try expectEqual(try box.names("d"), ["file"], "names, for reading is allowed")
        }
    },
    PosixCase("a directory with search permission alone opens known names and lists nothing", .root) {
        box in
        try box.makeDirectory("d", 0o711)
        try box.create("d/file", "text")
        try acting(as: .bob) {
            try expectEqual(try box.text("d/file"), "text", "contents")
            try expectFailure(EACCES) { try box.names("d") }
        }
    },
    PosixCase("changing the entries of a directory takes write and search permission", .root) { box in
        try box.makeDirectory("d")
        for name in ["file", "other"] { try box.create("d/\(name)") }
        try box.changeOwner("d/file", 10_002, 10_002)
        try box.makeDirectory("d/sub")
        for mode: mode_t in [0o755, 0o776] {
            try box.changeMode("d", mode)
            try acting(as: .bob) {
                try expectFailure(EACCES) { try box.create("d/new") }
                try expectFailure(EACCES) { try box.makeDirectory("d/new") }
                try expectFailure(EACCES) { try box.makeFifo("d/new") }
                try expectFailure(EACCES) { try box.symlink("x", "d/new") }
                try expectFailure(EACCES) { try box.link("d/file", "d/new") }
                try expectFailure(EACCES) { try box.rename("d/file", "d/new") }
                try expectFailure(EACCES) { try box.unlink("d/file") }
                try expectFailure(EACCES) { try box.removeDirectory("d/sub") }
            }
        }
        try expectEqual(try box.names("d"), ["file", "other", "sub"], "names")
    },
    PosixCase("removing a file takes permission on its directory, none on the file", .root) { box in
        try box.makeDirectory("d")
        try box.changeMode("d", 0o777)
        try box.create("d/file", mode: 0)
        try acting(as: .bob) { try box.unlink("d/file") }
        try expectEqual(try box.names("d"), [], "names")
    },
    PosixCase("root reads and writes a file of mode 0 and searches a directory of mode 0", .root) { box in
        try box.makeDirectory("d", 0o700)
        try box.create("d/file", "text", mode: 0)
        try box.changeMode("d", 0)
        try box.open("d/file", O_RDWR).write("TEXT", at: 0)
        try expectEqual(try box.text("d/file"), "TEXT", "contents")
        try expectFailure(EACCES) { try box.access("d/file", X_OK) }
        try box.changeMode("d", 0o700)
    },
    PosixCase("access(F_OK) needs only search permission on the path", .root) { box in
        try box.makeDirectory("d")
        try box.create("d/file", mode: 0)
        try acting(as: .bob) {
            try box.access("d/file", F_OK)
            try expectFailure(ENOENT) { try box.access("d/missing", F_OK) }
            try expectFailure(EACCES) { try box.access("d/file", R_OK) }
        }
    },
    PosixCase("O_TRUNC without write permission fails with EACCES and keeps the contents", .root) { box in
        try box.create("file", "text", mode: 0o644)
        try acting(as: .bob) { try expectFailure(EACCES) { try box.open("file", O_RDONLY | O_TRUNC) } }
        try expectEqual(try box.text("file"), "text", "contents")
    },
    PosixCase("four users create files in parallel and every file has the right owner", .root) { box in
        try checkParallelUsers(box)
    },
]
