internal import Glibc

private let first = Timestamp(seconds: 1_000_000_000, nanoseconds: 123_456_789)
private let second = Timestamp(seconds: 1_200_000_000, nanoseconds: 987_654_321)

let timesCases: [PosixCase] = [
    PosixCase("utimensat sets access and modification time to the nanosecond") { box in
        try box.create("file")
        try box.setTimes("file", accessed: first, modified: second)
        let status = try box.status("file")
        try expectEqual(status.accessed, first, "access time")
        try expectEqual(status.modified, second, "modification time")
    },
    PosixCase("utimensat advances the change time and nothing of the directory") { box in
        try box.create("file")
        try box.expectTimes("", advance: []) {
            let before = try box.status("file").changed
            tick()
            try box.setTimes("file", accessed: first, modified: second)
            try expect(try box.status("file").changed > before, "the change time did not advance")
        }
    },
    PosixCase("UTIME_OMIT leaves one time alone") { box in
        try box.create("file")
        try box.setTimes("file", accessed: first, modified: second)
        try box.setTimes("file", accessed: .omitted, modified: first)
        try expectEqual(try box.status("file").accessed, first, "access time")
        try expectEqual(try box.status("file").modified, first, "modification time")
        try box.setTimes("file", accessed: second, modified: .omitted)
        try expectEqual(try box.status("file").accessed, second, "access time")
        try expectEqual(try box.status("file").modified, first, "modification time")
    },
    PosixCase("UTIME_OMIT for both changes nothing, not even the change time") { box in
        try box.create("file")
        try box.expectTimes("file", advance: []) {
            try box.setTimes("file", accessed: .omitted, modified: .omitted)
        }
    },
    PosixCase("UTIME_NOW sets the time of the call") { box in
        try box.create("file")
        try box.setTimes("file", accessed: first, modified: first)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        try box.setTimes("file", accessed: .now, modified: .now)
        let status = try box.status("file")
        for time in [status.accessed, status.modified] {
            try expect(abs(time.seconds - Int64(now.tv_sec)) <= 2, "the time is \(time)")
        }
    },
    PosixCase("UTIME_NOW for one time and a value for the other") { box in
        try box.create("file")
        try box.setTimes("file", accessed: first, modified: .now)
        let status = try box.status("file")
        try expectEqual(status.accessed, first, "access time")
        try expect(status.modified.seconds > second.seconds, "modification time")
    },
    PosixCase("nanoseconds beyond a second are refused with EINVAL") { box in
        try box.create("file")
        try expectFailure(EINVAL) {
            try box.setTimes(
                "file", accessed: Timestamp(seconds: 1, nanoseconds: 1_000_000_000), modified: first)
        }
    },
    PosixCase("times follow a symbolic link unless AT_SYMLINK_NOFOLLOW says otherwise") { box in
        try box.create("file")
        try box.symlink("file", "link")
        try box.setTimes("link", accessed: first, modified: first)
        try expectEqual(try box.status("file").modified, first, "the target")
        try box.setTimes("link", accessed: second, modified: second, following: false)
        try expectEqual(try box.linkStatus("link").modified, second, "the link")
        try expectEqual(try box.status("file").modified, first, "the target after the link")
    },
    PosixCase("times of directories, fifos and files through a descriptor") { box in
        try box.makeDirectory("d")
        try box.makeFifo("fifo")
        try box.create("file")
        try box.setTimes("d", accessed: first, modified: second)
        try box.setTimes("fifo", accessed: first, modified: second)
        try box.open("file", O_RDONLY).setTimes(accessed: first, modified: second)
        for name in ["d", "fifo", "file"] {
            try expectEqual(try box.status(name).modified, second, "modification time of \(name)")
        }
    },
    PosixCase("times before 1970 and after 2038 are kept") { box in
        try box.create("file")
        for seconds: Int64 in [-1, -1_000_000, 0, 4_000_000_000] {
            let time = Timestamp(seconds: seconds, nanoseconds: 5)
            try box.setTimes("file", accessed: time, modified: time)
            try expectEqual(try box.status("file").modified, time, "modification time")
        }
    },
    PosixCase("times set explicitly survive closing and fsync of a file written before") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write(pattern(10_000))
        try file.setTimes(accessed: first, modified: second)
        try file.synchronise()
        try file.close()
        try expectEqual(try box.status("file").modified, second, "modification time")
        try expectEqual(try box.contents("file").count, 10_000, "size")
    },
    PosixCase("times set explicitly survive rename, link and chmod") { box in
        try box.create("file")
        try box.setTimes("file", accessed: first, modified: second)
        try box.rename("file", "moved")
        try box.link("moved", "link")
        try box.changeMode("link", 0o600)
        try expectEqual(try box.status("moved").modified, second, "modification time")
    },
    PosixCase("a write after setting times advances the modification time") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.setTimes(accessed: first, modified: first)
        try file.write("x")
        try expect(try file.status().modified > second, "the modification time stayed")
    },
    PosixCase("setting now takes write permission, setting a value takes ownership", .root) { box in
        try box.create("file")
        try box.changeOwner("file", 10_001, 10_001)
        try box.changeMode("file", 0o666)
        try acting(as: .bob) {
            try box.setTimes("file", accessed: .now, modified: .now)
            try expectFailure(EPERM) { try box.setTimes("file", accessed: first, modified: first) }
            try expectFailure(EPERM) { try box.setTimes("file", accessed: .omitted, modified: .now) }
        }
        try acting(as: .alice) { try box.setTimes("file", accessed: first, modified: first) }
    },
    PosixCase("setting now without write permission fails with EACCES, for the owner it works", .root) {
        box in
        try box.create("file", mode: 0o444)
        try box.changeOwner("file", 10_001, 10_001)
        try acting(as: .bob) {
            try expectFailure(EACCES) { try box.setTimes("file", accessed: .now, modified: .now) }
        }
        try acting(as: .alice) { try box.setTimes("file", accessed: .now, modified: .now) }
    },
    PosixCase("a later change never has an older time, whatever it is") { box in
        try box.create("touched")
        try box.create("written")
        try box.makeDirectory("d")
        var last = try box.status("d").modified
        func expectNotBefore(_ name: String, _ stamp: Timestamp) throws {
            try expect(!(stamp < last), "\(name) has \(stamp), and what was done before it \(last)")
            last = stamp
        }
        for index in 0..<300 {
            try box.setTimes("touched", accessed: .now, modified: .now)
            let touched = try box.status("touched")
            try expectNotBefore("touched", touched.modified)
            try expectEqual(touched.accessed, touched.modified, "both times")
            try box.create("d/\(index)")
            try expectNotBefore("d/\(index)", try box.status("d/\(index)").modified)
            try box.open("written").write("x", at: 0)
            try expectNotBefore("written", try box.status("written").modified)
            try box.symlink("x", "d/link-\(index)")
            try expectNotBefore("d", try box.status("d").modified)
            try box.changeMode("d", index % 2 == 0 ? 0o700 : 0o755)
            try expectNotBefore("d", try box.status("d").changed)
        }
    },
    PosixCase("a new file's times lie between the clock before and after") { box in
        var clock = timespec()
        clock_gettime(CLOCK_REALTIME, &clock)
        let before = Timestamp(seconds: Int64(clock.tv_sec) - 1)
        try box.create("file")
        clock_gettime(CLOCK_REALTIME, &clock)
        let after = Timestamp(seconds: Int64(clock.tv_sec) + 1)
        for stamp in Stamp.allCases {
            let time = stamp.value(try box.status("file"))
            try expect(before < time && time < after, "the \(stamp) time is \(time)")
        }
    },
]
