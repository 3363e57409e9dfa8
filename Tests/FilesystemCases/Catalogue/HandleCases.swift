internal import CFilesystemCalls
internal import Glibc

private func handle(_ box: Sandbox, _ name: String) throws -> linux_handle {
    var handle = linux_handle()
    try check("name_to_handle_at", linux_name_to_handle(box.path(name), &handle))
    return handle
}

private func open(_ box: Sandbox, _ handle: linux_handle, _ flags: Int32 = O_RDONLY) throws -> Descriptor {
    var handle = handle
    let mount = try box.open("", O_RDONLY | O_DIRECTORY)
    return Descriptor(try check("open_by_handle_at", linux_open_by_handle(mount.number, &handle, flags)))
}

let handleCases: [PosixCase] = [
    PosixCase("a handle opens its file, for reading and for writing", .fileHandles, .root) { box in
        try box.create("file", "text")
        let handle = try handle(box, "file")
        try expectEqual(try open(box, handle).text(), "text", "contents")
        try open(box, handle, O_RDWR).write("TEXT", at: 0)
        try expectEqual(try box.text("file"), "TEXT", "contents")
    },
    PosixCase("a handle opens its file after the kernel forgot it", .fileHandles, .root, .droppedCaches) {
        box in
        try box.makeDirectory("d")
        try box.create("d/file", "text")
        let handle = try handle(box, "d/file")
        sync()
        try check("drop_caches", linux_drop_caches())
        try expectEqual(try open(box, handle).text(), "text", "contents")
    },
    PosixCase("a handle follows a rename into another directory", .fileHandles, .root) { box in
        try box.makeDirectory("d")
        try box.create("file", "text")
        let handle = try handle(box, "file")
        try box.rename("file", "d/moved")
        _ = linux_drop_caches()
        try expectEqual(try open(box, handle).text(), "text", "contents")
    },
    PosixCase("a handle of a removed file is stale (ESTALE)", .fileHandles, .root) { box in
        try box.create("file", "text")
        let handle = try handle(box, "file")
        try box.unlink("file")
        try expectFailure(ESTALE) { try open(box, handle) }
        try box.create("file", "another")
        try expectFailure(ESTALE) { try open(box, handle) }
    },
    PosixCase("a handle opens its directory, and leads to its entries and parent", .fileHandles, .root) {
        box in
        try box.makeDirectory("d")
        try box.makeDirectory("d/e")
        try box.create("d/e/file", "text")
        let handle = try handle(box, "d/e")
        _ = linux_drop_caches()
        let directory = try open(box, handle, O_RDONLY | O_DIRECTORY)
        try expectEqual(
            try Sandbox.open(path: "\(directory.procPath)/file", O_RDONLY).text(), "text", "contents")
        let parent = try Sandbox.open(path: "\(directory.procPath)/..", O_RDONLY | O_DIRECTORY)
        try expectEqual(try parent.status().inode, try box.status("d").inode, "the parent")
    },
    PosixCase("two names of a file yield one handle, two files yield two", .fileHandles) { box in
        func key(_ name: String) throws -> [UInt8] {
            let handle = try handle(box, name)
            return withUnsafeBytes(of: handle.data) { Array($0.prefix(Int(handle.bytes))) }
        }
        try box.create("file")
        try box.link("file", "link")
        try box.create("other")
        try expectEqual(try key("link"), try key("file"), "handle")
        try expect(try key("other") != key("file"), "two files share a handle")
    },
]
