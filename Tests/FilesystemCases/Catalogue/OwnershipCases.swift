internal import Glibc

let ownershipCases: [PosixCase] = [
    PosixCase("chown sets owner and group, and -1 leaves one alone", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 10_001, 10_002)
        try box.changeOwner("file", unchanged, 10_001)
        try expectEqual(try box.status("file").owner, 10_001, "owner")
        try expectEqual(try box.status("file").group, 10_001, "group")
        try box.changeOwner("file", 65_534, unchanged)
        try expectEqual(try box.status("file").owner, 65_534, "owner")
        try expectEqual(try box.status("file").group, 10_001, "group")
    },
    PosixCase("chown follows a symbolic link, lchown does not", .root) { box in
        try box.create("file")
        try box.symlink("file", "link")
        try box.changeOwner("link", 10_001, 10_001)
        try box.changeLinkOwner("link", 10_002, 10_002)
        try expectEqual(try box.status("file").owner, 10_001, "owner of the file")
        try expectEqual(try box.linkStatus("link").owner, 10_002, "owner of the link")
    },
    PosixCase("fchown, and chown of directories and fifos", .root) { box in
        try box.create("file")
        try box.makeDirectory("d")
        try box.makeFifo("fifo")
        try box.open("file").changeOwner(10_001, 10_002)
        try box.changeOwner("d", 10_001, 10_002)
        try box.changeOwner("fifo", 10_001, 10_002)
        for name in ["file", "d", "fifo"] {
            try expectEqual(try box.status(name).owner, 10_001, "owner of \(name)")
            try expectEqual(try box.status(name).group, 10_002, "group of \(name)")
        }
    },
    PosixCase("large ids up to 4,294,967,294 are kept", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 4_294_967_294, 3_000_000_000)
        try expectEqual(try box.status("file").owner, 4_294_967_294, "owner")
        try expectEqual(try box.status("file").group, 3_000_000_000, "group")
    },
    PosixCase("chown advances the change time alone", .root) { box in
        try box.create("file")
        try box.expectTimes("file", advance: [.changed]) { try box.changeOwner("file", 10_001, 10_001) }
    },
    PosixCase("an owner cannot give a file away nor take another's", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 10_001, 10_001)
        try acting(as: .alice) {
            try expectFailure(EPERM) { try box.changeOwner("file", 10_002, unchanged) }
        }
        try acting(as: .bob) {
            try expectFailure(EPERM) { try box.changeOwner("file", 10_002, unchanged) }
            try expectFailure(EPERM) { try box.changeOwner("file", unchanged, 10_002) }
        }
        try expectEqual(try box.status("file").owner, 10_001, "owner")
    },
    PosixCase("an owner changes the group to one of his own groups, to no other", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 10_002, 10_002)
        try acting(as: .bobInAlicesGroup) {
            try box.changeOwner("file", unchanged, 10_001)
            try expectFailure(EPERM) { try box.changeOwner("file", unchanged, 10_003) }
        }
        try expectEqual(try box.status("file").group, 10_001, "group")
    },
    PosixCase("a member of the group who is not the owner cannot change the group", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 10_001, 10_001)
        try acting(as: .bobInAlicesGroup) {
            try expectFailure(EPERM) { try box.changeOwner("file", unchanged, 10_002) }
        }
    },
    PosixCase("files of every type belong to the user who makes them, and to his group", .root) { box in
        try box.changeMode("", 0o777)
        try acting(as: .alice) {
            try box.create("file")
            try box.makeDirectory("d")
            try box.makeFifo("fifo")
            try box.symlink("file", "link")
        }
        for name in ["file", "d", "fifo", "link"] {
            try expectEqual(try box.linkStatus(name).owner, 10_001, "owner of \(name)")
            try expectEqual(try box.linkStatus(name).group, 10_001, "group of \(name)")
        }
    },
    PosixCase("chown of missing names fails with ENOENT, of a dangling link only when followed", .root) {
        box in
        try box.symlink("nothing", "link")
        try expectFailure(ENOENT) { try box.changeOwner("missing", 1, 1) }
        try expectFailure(ENOENT) { try box.changeOwner("link", 1, 1) }
        try box.changeLinkOwner("link", 1, 1)
        try expectEqual(try box.linkStatus("link").owner, 1, "owner of the link")
    },
    PosixCase("a change of owner takes effect on the very next access", .root) { box in
        try box.create("file", "text", mode: 0o600)
        for (owner, user, other) in [(UInt32(10_001), User.alice, User.bob), (10_002, .bob, .alice)] {
            try box.changeOwner("file", owner, owner)
            _ = try acting(as: user) { try box.text("file") }
            try acting(as: other) { try expectFailure(EACCES) { try box.text("file") } }
        }
    },
]
