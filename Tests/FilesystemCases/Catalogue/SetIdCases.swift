internal import CFilesystemCalls
internal import Glibc

let setIdCases: [PosixCase] = [
    PosixCase("a write by a user without privileges clears setuid and setgid", .root) { box in
        try box.create("file", "text")
        try box.changeOwner("file", 10_001, 10_001)
        try box.changeMode("file", 0o6777)
        try acting(as: .bob) { try box.open("file").write("x", at: 0) }
        try expectEqual(try box.status("file").permissions, 0o777, "mode")
    },
    PosixCase("a write by the owner clears setuid, too", .root) { box in
        try box.create("file", "text")
        try box.changeOwner("file", 10_001, 10_001)
        try box.changeMode("file", 0o4755)
        try acting(as: .alice) { try box.open("file").write("x", at: 0) }
        try expectEqual(try box.status("file").permissions, 0o755, "mode")
    },
    PosixCase("a truncation by a user without privileges clears setuid and setgid", .root) { box in
        for (name, cut) in [("truncate", true), ("open", false)] {
            try box.create(name, "text")
            try box.changeOwner(name, 10_001, 10_001)
            try box.changeMode(name, 0o6777)
            try acting(as: .bob) {
                if cut { try box.truncate(name, 1) } else { try box.open(name, O_WRONLY | O_TRUNC).close() }
            }
            try expectEqual(try box.status(name).permissions, 0o777, "mode after \(name)")
        }
    },
    PosixCase("fallocate by a user without privileges clears setuid and setgid", .root) { box in
        let modes = [
            0, LINUX_FALLOCATE_KEEP_SIZE, LINUX_FALLOCATE_PUNCH_HOLE | LINUX_FALLOCATE_KEEP_SIZE,
            LINUX_FALLOCATE_ZERO_RANGE,
        ]
        for (index, mode) in modes.enumerated() {
            for (permissions, left) in [(0o6777, 0o777), (0o6666, 0o666), (0o4666, 0o666)]
                as [(mode_t, mode_t)]
            {
                let name = "\(index)-\(permissions)"
                try box.create(name, bytes: pattern(10_000))
                try box.changeOwner(name, 10_001, 10_001)
                try box.changeMode(name, permissions)
                do {
                    try acting(as: .bob) { try box.open(name).allocate(mode, 0, 5000) }
                } catch let error as PosixError where error.code == EOPNOTSUPP {
                    continue
                }
                try expectEqual(try box.status(name).permissions, left, "mode after fallocate with \(mode)")
            }
        }
    },
    PosixCase("a write by root keeps setuid and setgid", .root) { box in
        try box.create("file", "text")
        try box.changeMode("file", 0o6755)
        try box.open("file").write("x", at: 0)
        try expectEqual(try box.status("file").permissions, 0o6755, "mode")
    },
    PosixCase("chown of an executable file clears setuid and setgid", .root) { box in
        try box.create("file")
        try box.changeMode("file", 0o6755)
        try box.changeOwner("file", 10_001, 10_001)
        try expectEqual(try box.status("file").permissions, 0o755, "mode")
    },
    PosixCase("chown of a directory keeps setuid and setgid", .root) { box in
        try box.makeDirectory("d")
        try box.changeMode("d", 0o6755)
        try box.changeOwner("d", 10_001, 10_001)
        try expectEqual(try box.status("d").permissions, 0o6755, "mode")
    },
    PosixCase("chown by the owner to his own group clears setuid of an executable", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 10_002, 10_002)
        try box.changeMode("file", 0o6755)
        try acting(as: .bobInAlicesGroup) { try box.changeOwner("file", unchanged, 10_001) }
        try expectEqual(try box.status("file").permissions, 0o755, "mode")
    },
    PosixCase("chmod by an owner outside the file's group drops setgid", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 10_001, 10_002)
        try acting(as: .alice) { try box.changeMode("file", 0o2755) }
        try expectEqual(try box.status("file").permissions, 0o755, "mode")
        try box.changeOwner("file", 10_001, 10_001)
        try acting(as: .alice) { try box.changeMode("file", 0o2755) }
        try expectEqual(try box.status("file").permissions, 0o2755, "mode inside the group")
    },
    PosixCase("new entries of a setgid directory take its group; directories take the bit", .root) { box in
        try box.makeDirectory("d")
        try box.changeOwner("d", 0, 10_002)
        try box.changeMode("d", 0o2777)
        try acting(as: .alice) {
            try box.create("d/file")
            try box.makeDirectory("d/sub")
            try box.symlink("x", "d/link")
            try box.makeFifo("d/fifo")
            try box.create("d/sub/file")
        }
        for name in ["d/file", "d/sub", "d/link", "d/fifo", "d/sub/file"] {
            try expectEqual(try box.linkStatus(name).group, 10_002, "group of \(name)")
            try expectEqual(try box.linkStatus(name).owner, 10_001, "owner of \(name)")
        }
        try expectEqual(try box.status("d/sub").permissions, 0o2755, "mode of the directory")
        try expectEqual(try box.status("d/file").permissions, 0o644, "mode of the file")
    },
    PosixCase("a rename into a setgid directory keeps the group", .root) { box in
        try box.makeDirectory("d")
        try box.changeOwner("d", 0, 10_002)
        try box.changeMode("d", 0o2777)
        try box.create("file")
        try box.rename("file", "d/file")
        try expectEqual(try box.status("d/file").group, getegid(), "group")
    },
    PosixCase("a failed write keeps setuid", .root) { box in
        try box.create("file", "text")
        try box.changeMode("file", 0o4755)
        try acting(as: .bob) { try expectFailure(EACCES) { try box.open("file", O_WRONLY) } }
        try expectEqual(try box.status("file").permissions, 0o4755, "mode")
    },
]
