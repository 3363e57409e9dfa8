internal import Glibc

/// Alice's file, which Bob may read through the list.
private let bobReads = AccessControlList(.owner(6), .user(10_002, 4), .owningGroup(0), .mask(4), .others(0))

private func makeListed(_ box: Sandbox, _ list: AccessControlList) throws {
    try box.create("file", "text", mode: 0o600)
    try box.changeOwner("file", 10_001, 10_001)
    try box.setList("file", list)
}

let accessControlCases: [PosixCase] = [
    PosixCase("a named user gets what his entry grants", .accessControlLists, .root) { box in
        try makeListed(box, bobReads)
        try acting(as: .bob) {
            try expectEqual(try box.text("file"), "text", "contents")
            try expectFailure(EACCES) { try box.open("file", O_WRONLY) }
        }
        try acting(as: .nobody) { try expectFailure(EACCES) { try box.text("file") } }
        try acting(as: .alice) { try box.open("file", O_RDWR).close() }
    },
    PosixCase("a list is read back as it was set, and shows in the mode", .accessControlLists) { box in
        let list = AccessControlList(
            .owner(6), .user(10_001, 4), .user(10_002, 6), .owningGroup(4), .group(10_003, 7), .mask(6),
            .others(4))
        try box.create("file")
        try box.setList("file", list)
        try expectEqual(try box.list("file"), list, "list")
        try expectEqual(try box.status("file").permissions, 0o664, "mode")
        try expect(try box.attributeNames("file").contains(AccessControlList.access), "it is not listed")
    },
    PosixCase("a list of the three base entries only sets the mode", .accessControlLists) { box in
        try box.create("file")
        try box.setList("file", AccessControlList(.owner(7), .owningGroup(5), .others(1)))
        try expectEqual(try box.status("file").permissions, 0o751, "mode")
        try expectFailure(ENODATA) { try box.list("file") }
    },
    PosixCase("the mask limits named users, groups and the owning group", .accessControlLists, .root) { box in
        try makeListed(
            box, AccessControlList(.owner(6), .user(10_002, 6), .owningGroup(6), .mask(4), .others(0)))
        try acting(as: .bob) {
            try box.open("file", O_RDONLY).close()
            try expectFailure(EACCES) { try box.open("file", O_WRONLY) }
        }
        try acting(as: User(uid: 10_005, gid: 10_001)) {
            try box.open("file", O_RDONLY).close()
            try expectFailure(EACCES) { try box.open("file", O_WRONLY) }
        }
        try acting(as: .alice) { try box.open("file", O_WRONLY).close() }
    },
    PosixCase("a named group grants to its members, supplementary ones too", .accessControlLists, .root) {
        box in
        try makeListed(
            box, AccessControlList(.owner(6), .owningGroup(0), .group(10_009, 4), .mask(7), .others(0)))
        try acting(as: User(uid: 10_005, gid: 10_005, groups: [10_009])) {
            try box.open("file", O_RDONLY).close()
        }
        try acting(as: .bob) { try expectFailure(EACCES) { try box.open("file", O_RDONLY) } }
    },
    PosixCase("a named user gets what his entry grants, even if others have more", .accessControlLists, .root)
    { box in
        try makeListed(
            box, AccessControlList(.owner(6), .user(10_002, 0), .owningGroup(4), .mask(7), .others(6)))
        try acting(as: .bob) { try expectFailure(EACCES) { try box.open("file", O_RDONLY) } }
        try acting(as: .nobody) { try box.open("file", O_RDWR).close() }
    },
    PosixCase("chmod sets the mask, not the owning group, of a file with a list", .accessControlLists) {
        box in
        try box.create("file")
        try box.setList(
            "file", AccessControlList(.owner(6), .user(10_002, 6), .owningGroup(4), .mask(6), .others(0)))
        try box.changeMode("file", 0o711)
        try expectEqual(
            try box.list("file"),
            AccessControlList(.owner(7), .user(10_002, 6), .owningGroup(4), .mask(1), .others(1)), "list")
        try expectEqual(try box.status("file").permissions, 0o711, "mode")
    },
    PosixCase("removing the list leaves the mode", .accessControlLists) { box in
        try box.create("file")
        try box.setList("file", bobReads)
        let mode = try box.status("file").permissions
        try box.removeAttribute("file", AccessControlList.access)
        try expectFailure(ENODATA) { try box.list("file") }
        try expectEqual(try box.status("file").permissions, mode, "mode")
    },
    PosixCase("malformed lists are EINVAL", .accessControlLists) { box in
        try box.create("file")
        let bad = [
            AccessControlList(.owner(6), .others(0)),
            AccessControlList(.owner(6), .user(10_001, 4), .owningGroup(4), .others(0)),
            AccessControlList(.others(0), .owningGroup(0), .owner(6)),
        ]
        for list in bad { try expectFailure(EINVAL) { try box.setList("file", list) } }
        try expectFailure(EINVAL, EOPNOTSUPP) {
            try box.setAttribute("file", AccessControlList.access, [9, 0, 0, 0])
        }
    },
    PosixCase("only the owner sets a list", .accessControlLists, .root) { box in
        try makeListed(box, bobReads)
        try acting(as: .bob) { try expectFailure(EPERM) { try box.setList("file", bobReads) } }
        try acting(as: .alice) { try box.setList("file", bobReads) }
    },
    PosixCase("a list advances the change time alone", .accessControlLists) { box in
        try box.create("file")
        try box.expectTimes("file", advance: [.changed]) { try box.setList("file", bobReads) }
    },
]
