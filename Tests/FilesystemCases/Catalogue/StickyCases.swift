internal import CFilesystemCalls
internal import Glibc

/// A sticky directory of Alice, in which everybody may write, with one file of Bob.
private func makeSticky(_ box: Sandbox) throws {
    try box.makeDirectory("d")
    try box.changeOwner("d", 10_001, 10_001)
    try box.changeMode("d", 0o1777)
    try acting(as: .bob) {
        try box.create("d/file", "bob")
        try box.makeDirectory("d/sub")
    }
}

private let carol = User(uid: 10_003, gid: 10_003)

let stickyCases: [PosixCase] = [
    PosixCase("in a sticky directory a stranger can remove nothing of others (EPERM)", .root) { box in
        try makeSticky(box)
        try acting(as: carol) {
            try expectFailure(EPERM, EACCES) { try box.unlink("d/file") }
            try expectFailure(EPERM, EACCES) { try box.removeDirectory("d/sub") }
        }
        try expectEqual(try box.names("d"), ["file", "sub"], "names")
    },
    PosixCase("in a sticky directory a stranger can rename nothing of others, nor replace it", .root) { box in
        try makeSticky(box)
        try acting(as: carol) {
            try box.create("d/own")
            try expectFailure(EPERM, EACCES) { try box.rename("d/file", "d/taken") }
            try expectFailure(EPERM, EACCES) { try box.rename("d/own", "d/file") }
            try expectFailure(EPERM, EACCES) { try box.rename("d/own", "d/file", LINUX_RENAME_EXCHANGE) }
        }
        try expectEqual(try box.text("d/file"), "bob", "contents")
    },
    PosixCase("in a sticky directory the owner of a file renames and removes it", .root) { box in
        try makeSticky(box)
        try acting(as: .bob) {
            try box.rename("d/file", "d/moved")
            try box.unlink("d/moved")
            try box.removeDirectory("d/sub")
        }
        try expectEqual(try box.names("d"), [], "names")
    },
    PosixCase("the owner of a sticky directory removes what others put there", .root) { box in
        try makeSticky(box)
        try acting(as: .alice) {
            try box.unlink("d/file")
            try box.removeDirectory("d/sub")
        }
        try expectEqual(try box.names("d"), [], "names")
    },
    PosixCase("root removes anything from a sticky directory", .root) { box in
        try makeSticky(box)
        try box.unlink("d/file")
        try box.removeDirectory("d/sub")
    },
    PosixCase("without the sticky bit a stranger removes what others put there", .root) { box in
        try makeSticky(box)
        try box.changeMode("d", 0o777)
        try acting(as: carol) { try box.unlink("d/file") }
    },
    PosixCase("everybody writes the files the mode allows in a sticky directory", .root) { box in
        try makeSticky(box)
        try box.changeMode("d/file", 0o600)
        try acting(as: .bob) { try box.open("d/file").write("BOB", at: 0) }
        try acting(as: carol) { try expectFailure(EACCES) { try box.open("d/file", O_RDONLY) } }
        try expectEqual(try box.text("d/file"), "BOB", "contents")
    },
]
