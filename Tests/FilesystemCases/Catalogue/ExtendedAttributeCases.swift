internal import Glibc

/// Flags of setxattr(2).
private let create: Int32 = 1
private let replace: Int32 = 2

let extendedAttributeCases: [PosixCase] = [
    PosixCase("an attribute is set, read, listed and removed", .extendedAttributes) { box in
        try box.create("file")
        try box.setAttribute("file", "user.colour", "blue")
        try expectEqual(try box.attribute("file", "user.colour"), Array("blue".utf8), "value")
        try expectEqual(try box.attributeSize("file", "user.colour"), 4, "size")
        try expectEqual(try box.userAttributes("file"), ["user.colour"], "names")
        try box.removeAttribute("file", "user.colour")
        try expectEqual(try box.userAttributes("file"), [], "names at the end")
    },
    PosixCase("setting again replaces the value, shorter or longer", .extendedAttributes) { box in
        try box.create("file")
        for value in ["one", "", "a much longer value", "x"] {
            try box.setAttribute("file", "user.name", value)
            try expectEqual(try box.attribute("file", "user.name"), Array(value.utf8), "value")
        }
    },
    PosixCase("values may hold any byte, names any character", .extendedAttributes) { box in
        try box.create("file")
        let bytes = (0...255).map { UInt8($0) }
        try box.setAttribute("file", "user.ünï côde.with.dots", bytes)
        try expectEqual(try box.attribute("file", "user.ünï côde.with.dots"), bytes, "value")
        try expectEqual(try box.userAttributes("file"), ["user.ünï côde.with.dots"], "names")
    },
    PosixCase("XATTR_CREATE refuses a set attribute, XATTR_REPLACE a missing one", .extendedAttributes) {
        box in
        try box.create("file")
        try expectFailure(ENODATA) { try box.setAttribute("file", "user.a", "1", replace) }
        try box.setAttribute("file", "user.a", "1", create)
        try expectFailure(EEXIST) { try box.setAttribute("file", "user.a", "2", create) }
        try box.setAttribute("file", "user.a", "3", replace)
        try expectEqual(try box.attribute("file", "user.a"), Array("3".utf8), "value")
        try expectFailure(EINVAL) { try box.setAttribute("file", "user.a", "4", 4) }
    },
    PosixCase("a missing attribute is ENODATA for get and remove", .extendedAttributes) { box in
        try box.create("file")
        try expectFailure(ENODATA) { try box.attribute("file", "user.missing") }
        try expectFailure(ENODATA) { try box.removeAttribute("file", "user.missing") }
    },
    PosixCase("a buffer too small is ERANGE for get and list", .extendedAttributes) { box in
        try box.create("file")
        try box.setAttribute("file", "user.name", "0123456789")
        try expectFailure(ERANGE) { try box.attribute("file", "user.name", capacity: 9) }
        try expectFailure(ERANGE) { try box.attributeNames("file", capacity: 5) }
        try expectEqual(try box.attribute("file", "user.name", capacity: 10).count, 10, "size")
    },
    PosixCase("values beyond 65,536 bytes are E2BIG, names beyond 255 bytes ERANGE", .extendedAttributes) {
        box in
        try box.create("file")
        try expectFailure(E2BIG) {
            try box.setAttribute("file", "user.a", [UInt8](repeating: 1, count: 65_537))
        }
        let longest = "user." + String(repeating: "n", count: 250)
        try box.setAttribute("file", longest, "v")
        try expectEqual(try box.userAttributes("file"), [longest], "names")
        try expectFailure(ERANGE) { try box.setAttribute("file", longest + "n", "v") }
        try expectFailure(ERANGE) { try box.setAttribute("file", "", "v") }
    },
    PosixCase("attributes are set until the space is used up, and none of them is lost", .extendedAttributes)
    { box in
        try box.create("file")
        var kept = 0
        do {
            for index in 0..<100 {
                try box.setAttribute("file", "user.n\(index)", pattern(1000, seed: index))
                kept += 1
            }
        } catch let error as PosixError {
            try expect([ENOSPC, E2BIG, EDQUOT].contains(error.code), "refused with \(error)")
        }
        try expect(kept >= 1, "not even one was kept")
        try expectEqual(try box.userAttributes("file").count, kept, "names")
        for index in 0..<kept {
            try expectEqual(try box.attribute("file", "user.n\(index)"), pattern(1000, seed: index), "value")
        }
    },
    PosixCase(
        "directories have attributes, symbolic links and fifos have none of the user class",
        .extendedAttributes
    ) { box in
        try box.makeDirectory("d")
        try box.makeFifo("fifo")
        try box.setAttribute("d", "user.a", "1")
        try expectEqual(try box.attribute("d", "user.a"), Array("1".utf8), "value")
        try expectFailure(EPERM) { try box.setAttribute("fifo", "user.a", "1") }
        try box.symlink("d", "link")
        try expectEqual(try box.attribute("link", "user.a"), Array("1".utf8), "value through a link")
    },
    PosixCase("unknown classes of attributes are EOPNOTSUPP", .extendedAttributes) { box in
        try box.create("file")
        try expectFailure(EOPNOTSUPP) { try box.setAttribute("file", "nonsense.a", "1") }
        try expectFailure(EOPNOTSUPP) { try box.setAttribute("file", "noclass", "1") }
    },
    PosixCase("setting and removing advances the change time alone", .extendedAttributes) { box in
        try box.create("file")
        try box.expectTimes("file", advance: [.changed]) { try box.setAttribute("file", "user.a", "1") }
        try box.expectTimes("file", advance: [.changed]) { try box.removeAttribute("file", "user.a") }
    },
    PosixCase("attributes follow a file through rename and hard links", .extendedAttributes) { box in
        try box.create("file")
        try box.setAttribute("file", "user.a", "1")
        try box.link("file", "link")
        try box.rename("file", "moved")
        try box.setAttribute("link", "user.b", "2")
        try expectEqual(try box.userAttributes("moved"), ["user.a", "user.b"], "names")
    },
    PosixCase("a new file of an old name has no attributes", .extendedAttributes) { box in
        for round in 0..<5 {
            try box.create("file")
            try expectEqual(try box.userAttributes("file"), [], "names")
            try box.setAttribute("file", "user.n\(round)", "1")
            try box.unlink("file")
        }
    },
    PosixCase("reading takes read permission, setting takes write permission", .extendedAttributes, .root) {
        box in
        try box.create("file", mode: 0o640)
        try box.changeOwner("file", 10_001, 10_001)
        try box.setAttribute("file", "user.a", "1")
        try acting(as: .alice) { try box.setAttribute("file", "user.b", "2") }
        try acting(as: .bobInAlicesGroup) {
            try expectEqual(try box.attribute("file", "user.a"), Array("1".utf8), "value")
            try expectFailure(EACCES) { try box.setAttribute("file", "user.a", "2") }
            try expectFailure(EACCES) { try box.removeAttribute("file", "user.a") }
        }
        try acting(as: .nobody) { try expectFailure(EACCES) { try box.attribute("file", "user.a") } }
    },
    PosixCase(
        "in a sticky directory of another user only the owner may set attributes on it",
        .extendedAttributes, .root
    ) { box in
        try box.makeDirectory("d")
        try box.changeMode("d", 0o1777)
        try acting(as: .alice) { try expectFailure(EPERM) { try box.setAttribute("d", "user.a", "1") } }
        try box.setAttribute("d", "user.a", "1")
    },
]
