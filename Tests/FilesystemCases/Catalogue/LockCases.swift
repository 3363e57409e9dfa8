internal import CFilesystemCalls
internal import Glibc

private func lock(_ file: Descriptor, _ operation: Int32) throws {
    try check("flock", linux_flock(file.number, operation | LOCK_NB))
}

private func lockRange(_ file: Descriptor, _ type: Int32, _ start: Int64, _ length: Int64) throws {
    try check("F_OFD_SETLK", linux_description_lock(file.number, type, start, length))
}

private func childLock(_ box: Sandbox, _ type: Int32, _ start: Int64, _ length: Int64) -> Int32 {
    linux_child_record_lock(box.path("file"), type, start, length)
}

private let refused: [Int32] = [EACCES, EAGAIN]

private func files(_ box: Sandbox) throws -> (Descriptor, Descriptor) {
    try box.create("file", "text")
    return (try box.open("file"), try box.open("file"))
}

let lockCases: [PosixCase] = [
    PosixCase("flock: an exclusive lock keeps others out until it is released") { box in
        let (first, second) = try files(box)
        try lock(first, LOCK_EX)
        try expectFailure(EWOULDBLOCK) { try lock(second, LOCK_EX) }
        try expectFailure(EWOULDBLOCK) { try lock(second, LOCK_SH) }
        try lock(first, LOCK_UN)
        try lock(second, LOCK_EX)
    },
    PosixCase("flock: shared locks share, and keep exclusive ones out") { box in
        let (first, second) = try files(box)
        try lock(first, LOCK_SH)
        try lock(second, LOCK_SH)
        try expectFailure(EWOULDBLOCK) { try lock(first, LOCK_EX) }
        try second.close()
        try lock(first, LOCK_EX)
    },
    PosixCase("flock: the last close of the description releases, a duplicate keeps the lock") { box in
        let (first, second) = try files(box)
        let duplicate = try first.duplicate()
        try lock(first, LOCK_EX)
        try first.close()
        try expectFailure(EWOULDBLOCK) { try lock(second, LOCK_EX) }
        try duplicate.close()
        try lock(second, LOCK_EX)
    },
    PosixCase("flock: other processes see the lock, and its release") { box in
        let (first, _) = try files(box)
        try lock(first, LOCK_EX)
        try expectEqual(linux_child_flock(box.path("file"), LOCK_SH), EWOULDBLOCK, "while it is held")
        try lock(first, LOCK_SH)
        try expectEqual(linux_child_flock(box.path("file"), LOCK_SH), 0, "shared")
        try lock(first, LOCK_UN)
        try expectEqual(linux_child_flock(box.path("file"), LOCK_EX), 0, "after the release")
    },
    PosixCase("flock: the lock belongs to the file, whatever name or mode it is opened with") { box in
        let (first, _) = try files(box)
        try box.link("file", "link")
        let link = try box.open("link", O_RDONLY)
        try lock(first, LOCK_EX)
        try expectFailure(EWOULDBLOCK) { try lock(link, LOCK_EX) }
        try box.unlink("file")
        try expectFailure(EWOULDBLOCK) { try lock(link, LOCK_EX) }
        try lock(first, LOCK_UN)
        try lock(link, LOCK_EX)
    },
    PosixCase("flock: directories are locked, too") { box in
        try box.makeDirectory("d")
        let first = try box.open("d", O_RDONLY)
        let second = try box.open("d", O_RDONLY)
        try lock(first, LOCK_EX)
        try expectFailure(EWOULDBLOCK) { try lock(second, LOCK_EX) }
    },
    PosixCase("fcntl: a write lock of a process keeps other processes out of its range alone") { box in
        let (first, _) = try files(box)
        try check("F_SETLK", linux_record_lock(first.number, F_WRLCK, 10, 10))
        try expect(refused.contains(childLock(box, F_WRLCK, 15, 1)), "inside the range")
        try expect(refused.contains(childLock(box, F_RDLCK, 0, 11)), "across the start")
        try expectEqual(childLock(box, F_WRLCK, 0, 10), 0, "before the range")
        try expectEqual(childLock(box, F_WRLCK, 20, 0), 0, "behind the range")
    },
    PosixCase("fcntl: read locks of two processes share") { box in
        let (first, _) = try files(box)
        try check("F_SETLK", linux_record_lock(first.number, F_RDLCK, 0, 0))
        try expectEqual(childLock(box, F_RDLCK, 0, 0), 0, "a read lock")
        try expect(refused.contains(childLock(box, F_WRLCK, 0, 0)), "a write lock")
    },
    PosixCase("fcntl: unlocking the middle splits the range") { box in
        let (first, _) = try files(box)
        try check("F_SETLK", linux_record_lock(first.number, F_WRLCK, 0, 30))
        try check("F_SETLK", linux_record_lock(first.number, F_UNLCK, 10, 10))
        try expect(refused.contains(childLock(box, F_WRLCK, 0, 10)), "the first part")
        try expectEqual(childLock(box, F_WRLCK, 10, 10), 0, "the middle")
        try expect(refused.contains(childLock(box, F_WRLCK, 20, 10)), "the last part")
    },
    PosixCase("fcntl: closing any descriptor of the file releases the locks of the process") { box in
        let (first, second) = try files(box)
        try check("F_SETLK", linux_record_lock(first.number, F_WRLCK, 0, 0))
        try expect(refused.contains(childLock(box, F_WRLCK, 0, 0)), "while it is held")
        try second.close()
        try expectEqual(childLock(box, F_WRLCK, 0, 0), 0, "after the close")
    },
    PosixCase("fcntl: a process that ends leaves no lock behind") { box in
        let (first, _) = try files(box)
        try expectEqual(childLock(box, F_WRLCK, 0, 0), 0, "the lock of the child")
        try lockRange(first, F_WRLCK, 0, 0)
    },
    PosixCase("fcntl: a read lock needs a readable descriptor, a write lock a writable one") { box in
        _ = try files(box)
        let reader = try box.open("file", O_RDONLY)
        let writer = try box.open("file", O_WRONLY)
        try expectFailure(EBADF) { try lockRange(reader, F_WRLCK, 0, 0) }
        try expectFailure(EBADF) { try lockRange(writer, F_RDLCK, 0, 0) }
    },
    PosixCase("open file description locks keep descriptors of one process apart") { box in
        let (first, second) = try files(box)
        try lockRange(first, F_WRLCK, 0, 100)
        try expectFailure(EAGAIN) { try lockRange(second, F_WRLCK, 50, 1) }
        try lockRange(second, F_WRLCK, 100, 1)
        try first.close()
        try lockRange(second, F_WRLCK, 50, 1)
    },
    PosixCase("open file description locks and record locks of a process keep each other out") { box in
        let (first, second) = try files(box)
        try lockRange(first, F_WRLCK, 0, 0)
        try expectFailure(EAGAIN, EACCES) {
            try check("F_SETLK", linux_record_lock(second.number, F_WRLCK, 0, 0))
        }
    },
    PosixCase("locks do not prevent reading and writing") { box in
        let (first, second) = try files(box)
        try lock(first, LOCK_EX)
        try lockRange(first, F_WRLCK, 0, 0)
        try second.write("TEXT", at: 0)
        try expectEqual(try second.text(), "TEXT", "contents")
    },
    PosixCase("four threads counting under flock lose no count", .root) { box in
        try box.create("file", "0")
        try box.changeMode("file", 0o666)
        try actingAtOnce(as: [.alice, .bob, .nobody, User(uid: 10_003, gid: 10_003)]) { _ in
            for _ in 0..<25 {
                let file = try box.open("file")
                try check("flock", linux_flock(file.number, LOCK_EX))
                let count = Int(try file.text()) ?? -1000
                try file.write("\(count + 1)", at: 0)
                try check("flock", linux_flock(file.number, LOCK_UN))
            }
        }
        try expectEqual(try box.text("file"), "100", "count")
    },
]
