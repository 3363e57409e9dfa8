internal import CFilesystemCalls
internal import Glibc

let synchroniseCases: [PosixCase] = [
    PosixCase("fsync and fdatasync of a written file succeed and change nothing") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write(pattern(100_000))
        try file.synchronise()
        try file.synchroniseData()
        try expectEqual(try file.contents(), pattern(100_000), "contents")
    },
    PosixCase("fsync of a descriptor for reading succeeds") { box in
        try box.create("file", "text")
        try box.open("file", O_RDONLY).synchronise()
    },
    PosixCase("fsync of a directory succeeds after every change to it") { box in
        try box.makeDirectory("d")
        let directory = try box.open("d", O_RDONLY | O_DIRECTORY)
        try box.create("d/file")
        try directory.synchronise()
        try box.rename("d/file", "d/moved")
        try directory.synchronise()
        try box.unlink("d/moved")
        try directory.synchroniseData()
        try expectEqual(try box.names("d"), [], "names")
    },
    PosixCase("fsync of a removed open file and of a removed directory succeed") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write("text")
        try box.unlink("file")
        try file.synchronise()
        try box.makeDirectory("d")
        let directory = try box.open("d", O_RDONLY | O_DIRECTORY)
        try box.removeDirectory("d")
        try directory.synchronise()
        try expectEqual(try file.text(), "text", "contents")
    },
    PosixCase("fsync of a fifo is refused with EINVAL") { box in
        try box.makeFifo("fifo")
        let fifo = try box.open("fifo", O_RDWR | O_NONBLOCK)
        try expectFailure(EINVAL) { try fifo.synchronise() }
    },
    PosixCase("O_SYNC and O_DSYNC writes are read back") { box in
        for (name, flag) in [("sync", O_SYNC), ("dsync", O_DSYNC)] {
            let file = try box.open(name, O_CREAT | O_RDWR | flag)
            try file.write("text")
            try expectEqual(try box.text(name), "text", "contents")
        }
    },
    PosixCase("a read through the page cache returns what completed writes past it wrote") {
        box in
        let stale = linux_count_stale_reads(box.path("file"), 65_536, 400)
        if stale < 0, errno == EINVAL { throw Lacking(requirement: .directAccess) }
        try check("io_submit", stale)
        try expectEqual(stale, 0, "reads of old bytes")
    },
    PosixCase("fsync does not advance the modification time") { box in
        let file = try box.open("file", O_CREAT | O_RDWR)
        try file.write("text")
        try box.expectTimes("file", advance: []) { try file.synchronise() }
    },
    PosixCase("contents and status are the same after the kernel dropped its caches", .droppedCaches) { box in
        try box.makeDirectory("d")
        for index in 0..<20 { try box.create("d/f\(index)", bytes: pattern(5000, seed: index)) }
        let before = try (0..<20).map { try box.status("d/f\($0)") }
        let directory = try box.open("d", O_RDONLY | O_DIRECTORY)
        try directory.synchronise()
        try check("drop_caches", linux_drop_caches())
        for index in 0..<20 {
            let after = try box.status("d/f\(index)")
            try expectEqual(after.inode, before[index].inode, "inode")
            try expectEqual(after.modified, before[index].modified, "modification time")
            try expectEqual(after.changed, before[index].changed, "change time")
            try expectEqual(try box.contents("d/f\(index)"), pattern(5000, seed: index), "contents")
        }
    },
]

let statisticsCases: [PosixCase] = [
    PosixCase("statfs returns a block size, blocks, files and the longest name") { box in
        let filesystem = try box.filesystem()
        try expect(filesystem.block_size >= 512, "the block size is \(filesystem.block_size)")
        try expect(filesystem.blocks > 0 && filesystem.free_blocks <= filesystem.blocks, "the blocks")
        try expect(filesystem.free_files <= filesystem.files, "the files")
        try expectEqual(filesystem.name_length, 255, "the longest name")
    },
    PosixCase("statfs of a file, of the directory and of a descriptor agree") { box in
        try box.create("file")
        let (first, second) = (try box.filesystem(), try box.filesystem("file"))
        try expectEqual(first.block_size, second.block_size, "block size")
        try expectEqual(first.blocks, second.blocks, "blocks")
        try expectFailure(ENOENT) { try box.filesystem("missing") }
    },
    PosixCase("statx and stat agree") { box in
        try box.create("file", "text", mode: 0o640)
        try box.symlink("file", "link")
        for name in ["file", "link", ""] {
            var fields = linux_status()
            try check("statx", linux_statx(box.path(name), &fields))
            let (extended, status) = (FileStatus(fields), try box.linkStatus(name))
            try expectEqual(extended.inode, status.inode, "inode")
            try expectEqual(extended.device, status.device, "device")
            try expectEqual(extended.kind, status.kind, "type")
            try expectEqual(extended.permissions, status.permissions, "mode")
            try expectEqual(extended.links, status.links, "links")
            try expectEqual(extended.size, status.size, "size")
            try expectEqual(extended.changed, status.changed, "change time")
        }
    },
    PosixCase("everything in a directory has its device number") { box in
        try box.create("file")
        try box.makeDirectory("d")
        try box.symlink("x", "link")
        let device = try box.status("").device
        for name in ["file", "d", "link"] {
            try expectEqual(try box.linkStatus(name).device, device, "device of \(name)")
        }
    },
]
