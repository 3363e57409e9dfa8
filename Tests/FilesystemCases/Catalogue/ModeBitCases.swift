internal import Glibc

private struct Access {
    let bit: mode_t
    let call: Int32
    let flags: Int32
    let name: String
}

private let accesses = [
    Access(bit: 4, call: R_OK, flags: O_RDONLY, name: "reading"),
    Access(bit: 2, call: W_OK, flags: O_WRONLY, name: "writing"),
]

/// Whose bits decide for whom: the owner's bits for Alice, the group's for Bob in her group, otherwise the others'.
private let deciders: [(user: User, shift: mode_t, who: String)] = [
    (.alice, 6, "the owner"), (.bobInAlicesGroup, 3, "a member of the group"), (.nobody, 0, "everybody else"),
]

let modeBitCases: [PosixCase] = accesses.flatMap { access in
    deciders.flatMap { decider in
        [
            PosixCase("\(access.name) is granted to \(decider.who) by that bit alone", .root) { box in
                try box.create("file", "text")
                try box.changeOwner("file", 10_001, 10_001)
                try box.changeMode("file", access.bit << decider.shift)
                try acting(as: decider.user) {
                    try box.open("file", access.flags).close()
                    try box.access("file", access.call)
                }
            },
            PosixCase("\(access.name) is denied to \(decider.who) when that bit alone is missing", .root) {
                box in
                try box.create("file", "text")
                try box.changeOwner("file", 10_001, 10_001)
                try box.changeMode("file", 0o777 & ~(access.bit << decider.shift))
                try acting(as: decider.user) {
                    try expectFailure(EACCES) { try box.open("file", access.flags) }
                    try expectFailure(EACCES) { try box.open("file", O_RDWR) }
                    try expectFailure(EACCES) { try box.access("file", access.call) }
                }
            },
        ]
    }
}

let searchBitCases: [PosixCase] = deciders.flatMap { decider in
    [
        PosixCase("searching a directory is granted to \(decider.who) by that bit alone", .root) { box in
            try makeDirectory(box, 0o001 << decider.shift)
            try acting(as: decider.user) {
                try expectEqual(try box.text("d/file"), "text", "contents")
                try box.access("d", X_OK)
                try expectFailure(EACCES) { try box.names("d") }
                try expectFailure(EACCES) { try box.create("d/new") }
            }
        },
        PosixCase("searching a directory is denied to \(decider.who) when that bit is missing", .root) {
            box in
            try makeDirectory(box, 0o777 & ~(0o001 << decider.shift))
            try acting(as: decider.user) {
                try expectFailure(EACCES) { try box.text("d/file") }
                try expectFailure(EACCES) { try box.access("d", X_OK) }
                try expectFailure(EACCES) { try box.create("d/new") }
            }
        },
        PosixCase("changing a directory's entries is granted to \(decider.who) by two bits", .root) { box in
            try makeDirectory(box, 0o003 << decider.shift)
            try acting(as: decider.user) {
                try box.create("d/new")
                try box.rename("d/new", "d/moved")
                try box.unlink("d/moved")
                try box.makeDirectory("d/sub")
                try box.removeDirectory("d/sub")
            }
        },
    ]
}

/// Alice's directory of the given mode, with a file that everybody may read.
private func makeDirectory(_ box: Sandbox, _ mode: mode_t) throws {
    try box.makeDirectory("d")
    try box.create("d/file", "text")
    try box.changeOwner("d", 10_001, 10_001)
    try box.changeMode("d", mode)
}
