internal import CFilesystemCalls
internal import Glibc

let specialFileCases: [PosixCase] = [
    PosixCase("bytes written to a fifo are read from it, and its size stays zero") { box in
        try box.makeFifo("fifo", 0o640)
        try expectEqual(try box.status("fifo").kind, S_IFIFO, "type")
        try expectEqual(try box.status("fifo").permissions, 0o640, "mode")
        let both = try box.open("fifo", O_RDWR | O_NONBLOCK)
        try both.write("through")
        try expectEqual(try both.read(100), Array("through".utf8), "bytes")
        try expectEqual(try box.status("fifo").size, 0, "size")
    },
    PosixCase("a fifo without a reader refuses a writer that does not wait (ENXIO)") { box in
        try box.makeFifo("fifo")
        try expectFailure(ENXIO) { try box.open("fifo", O_WRONLY | O_NONBLOCK) }
        let reader = try box.open("fifo", O_RDONLY | O_NONBLOCK)
        try box.open("fifo", O_WRONLY | O_NONBLOCK).write("x")
        try expectEqual(try reader.read(10), [UInt8(ascii: "x")], "bytes")
    },
    PosixCase("a fifo is renamed, linked, given a mode and removed like a file") { box in
        try box.makeFifo("fifo")
        try box.rename("fifo", "moved")
        try box.changeMode("moved", 0o600)
        try expectEqual(try box.status("moved").permissions, 0o600, "mode")
        try box.unlink("moved")
        try expectFailure(EEXIST) {
            try box.create("file")
            try box.makeFifo("file")
        }
    },
    PosixCase("mknod makes regular files and fifos without privileges", .root) { box in
        try box.changeMode("", 0o777)
        try acting(as: .alice) {
            try box.makeNode("file", S_IFREG | 0o640)
            try box.makeNode("fifo", S_IFIFO | 0o640)
            try expectFailure(EPERM) { try box.makeNode("null", S_IFCHR | 0o666, major: 1, minor: 3) }
            try expectFailure(EPERM) { try box.makeNode("disk", S_IFBLK | 0o666, major: 7, minor: 0) }
        }
        try expectEqual(try box.status("file").kind, S_IFREG, "type")
        try expectEqual(try box.status("file").owner, 10_001, "owner")
        try expectEqual(try box.status("fifo").kind, S_IFIFO, "type")
    },
    PosixCase("mknod by root keeps type and numbers of a device", .root) { box in
        try box.makeNode("null", S_IFCHR | 0o666, major: 1, minor: 3)
        try box.makeNode("disk", S_IFBLK | 0o600, major: 259, minor: 70_000)
        let null = try box.status("null")
        try expectEqual(null.kind, S_IFCHR, "type")
        try expectEqual(null.specialDevice, 0x103, "numbers of the character device")
        try expectEqual(try box.status("disk").kind, S_IFBLK, "type")
        try expectEqual(
            try box.status("disk").specialDevice, 0x1111_0370, "numbers of the block device")
        try expectEqual(null.size, 0, "size")
    },
    PosixCase("a device node leads to its device", .root, .deviceNodes) { box in
        try box.makeNode("zero", S_IFCHR | 0o666, major: 1, minor: 5)
        try expectEqual(try box.open("zero", O_RDONLY).read(4), [0, 0, 0, 0], "bytes")
    },
    PosixCase("mknod refuses the type of a directory") { box in
        try expectFailure(EPERM, EINVAL) { try box.makeNode("d", S_IFDIR | 0o755) }
    },
    PosixCase("mknod over an existing name fails with EEXIST") { box in
        try box.symlink("nothing", "link")
        try expectFailure(EEXIST) { try box.makeNode("link", S_IFREG | 0o644) }
    },
    PosixCase("a socket is bound to a name and connected to") { box in
        let directory = try box.open("", O_RDONLY | O_DIRECTORY)
        let path = "\(directory.procPath)/socket"
        let listening = Descriptor(try check("bind", linux_bind_socket(path)))
        try expectEqual(try box.status("socket").kind, S_IFSOCK, "type")
        let connected = Descriptor(try check("connect", linux_connect_socket(path)))
        let accepted = Descriptor(try check("accept", accept(listening.number, nil, nil)))
        try connected.write("hello")
        try expectEqual(try accepted.read(10), Array("hello".utf8), "bytes")
        try expectFailure(ENXIO) { try box.open("socket", O_RDONLY) }
        try expectFailure(EADDRINUSE) { try check("bind", linux_bind_socket(path)) }
    },
    PosixCase("a removed socket refuses connections (ENOENT), one without listener ECONNREFUSED") { box in
        let directory = try box.open("", O_RDONLY | O_DIRECTORY)
        let path = "\(directory.procPath)/socket"
        try Descriptor(try check("bind", linux_bind_socket(path))).close()
        try expectFailure(ECONNREFUSED) { try check("connect", linux_connect_socket(path)) }
        try box.unlink("socket")
        try expectFailure(ENOENT) { try check("connect", linux_connect_socket(path)) }
    },
]
