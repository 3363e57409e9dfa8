internal import Glibc

private let defaults = AccessControlList(
    .owner(7), .user(10_002, 6), .owningGroup(5), .mask(7), .others(0))

private func makeDirectory(_ box: Sandbox) throws {
    try box.makeDirectory("d")
    try box.setList("d", defaults, AccessControlList.defaults)
}

let defaultListCases: [PosixCase] = [
    PosixCase(
        "a new file takes the default list, limited by the mode and not by the umask",
        .accessControlLists
    ) { box in
        try makeDirectory(box)
        try withUmask(0o077) { try box.create("d/file", mode: 0o664) }
        try expectEqual(
            try box.list("d/file"),
            AccessControlList(.owner(6), .user(10_002, 6), .owningGroup(5), .mask(6), .others(0)), "list")
        try expectEqual(try box.status("d/file").permissions, 0o660, "mode")
    },
    PosixCase("a new directory takes the default list as its own default, too", .accessControlLists) { box in
        try makeDirectory(box)
        try box.makeDirectory("d/sub", 0o777)
        try expectEqual(try box.list("d/sub", AccessControlList.defaults), defaults, "default list")
        try expectEqual(try box.list("d/sub"), defaults, "access list")
        try expectEqual(try box.status("d/sub").permissions, 0o770, "mode")
    },
    PosixCase("fifos take the default list, symbolic links do not", .accessControlLists) { box in
        try makeDirectory(box)
        try box.makeFifo("d/fifo", 0o666)
        try box.symlink("x", "d/link")
        try expectEqual(try box.status("d/fifo").permissions, 0o660, "mode of the fifo")
        try expectEqual(try box.linkStatus("d/link").permissions, 0o777, "mode of the link")
    },
    PosixCase("a default list of three entries sets the mode instead of the umask", .accessControlLists) {
        box in
        try box.makeDirectory("d")
        try box.setList(
            "d", AccessControlList(.owner(7), .owningGroup(7), .others(1)), AccessControlList.defaults)
        try withUmask(0o077) { try box.create("d/file", mode: 0o666) }
        try expectEqual(try box.status("d/file").permissions, 0o660, "mode")
        try expectFailure(ENODATA) { try box.list("d/file") }
    },
    PosixCase("without a default list the umask counts", .accessControlLists) { box in
        try makeDirectory(box)
        try box.removeAttribute("d", AccessControlList.defaults)
        try withUmask(0o077) { try box.create("d/file", mode: 0o666) }
        try expectEqual(try box.status("d/file").permissions, 0o600, "mode")
        try expectFailure(ENODATA) { try box.list("d", AccessControlList.defaults) }
    },
    PosixCase("a default list does not affect access to the directory itself", .accessControlLists, .root) {
        box in
        try box.makeDirectory("d", 0o700)
        try box.setList("d", defaults, AccessControlList.defaults)
        try acting(as: .bob) { try expectFailure(EACCES) { try box.names("d") } }
        try expectEqual(try box.status("d").permissions, 0o700, "mode")
    },
    PosixCase("a file has no default list (EACCES)", .accessControlLists) { box in
        try box.create("file")
        try expectFailure(EACCES) { try box.setList("file", defaults, AccessControlList.defaults) }
    },
    PosixCase("an inherited list grants access from the start", .accessControlLists, .root) { box in
        try makeDirectory(box)
        try box.changeMode("d", 0o755)
        try box.create("d/file", "text", mode: 0o660)
        try acting(as: .bob) { try box.open("d/file", O_RDWR).close() }
        try acting(as: .nobody) { try expectFailure(EACCES) { try box.open("d/file", O_RDONLY) } }
    },
    PosixCase("a rename into a directory with a default list changes nothing", .accessControlLists) { box in
        try makeDirectory(box)
        try box.create("file", mode: 0o640)
        try box.rename("file", "d/file")
        try expectEqual(try box.status("d/file").permissions, 0o640, "mode")
        try expectFailure(ENODATA) { try box.list("d/file") }
    },
]
