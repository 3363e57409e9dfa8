internal import CFuse3
internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// A request that another thread answers, once.
@safe
struct HeldRequest: Sendable {
    // SAFETY: libfuse keeps a request until it is answered. Any thread may answer it, and may check before that
    // whether it was interrupted: libfuse takes a lock of its own for that. The holder of a request passes it to
    // one thread at a time, which the compiler cannot see, as it sees only a pointer.
    private nonisolated(unsafe) let request: fuse_req_t?

    init(_ request: fuse_req_t?) {
        unsafe self.request = unsafe request
    }

    /// The owed answer; to be fetched once, and again if it was left to another thread.
    var reply: Reply? { unsafe Reply(request) }

    /// Lends the request to libfuse's own functions; may be called only before the answer.
    func withRequest<Result>(_ body: (fuse_req_t?) -> Result) -> Result { unsafe body(request) }

    /// Whether the program that made the request has received a signal; may be called only before the answer.
    var isInterrupted: Bool {
        guard let request = unsafe request else { return false }
        return unsafe fuse_req_interrupted(request) != 0
    }
}

/// One answer owed to the kernel.
///
/// Must be consumed exactly once; dropping it answers EIO.
@safe
struct Reply: ~Copyable {
    // SAFETY: libfuse keeps the request until it is answered, which every consuming method and deinit do
    // once.
    private let request: fuse_req_t

    init?(_ request: fuse_req_t?) {
        guard let request = unsafe request else { return nil }
        unsafe self.request = unsafe request
    }

    deinit {
        unsafe fuse_reply_err(request, EIO)
    }

    /// Answers with the result of `body`, or with its error.
    consuming func answer<Value>(
        _ body: () throws(FileSystemError) -> Value, _ success: (consuming Reply, Value) -> Void
    ) {
        let value: Value
        do throws(FileSystemError) {
            value = try body()
        } catch {
            return failure(error)
        }
        success(self, value)
    }

    /// Answers success, or the error of `body`.
    consuming func confirm(_ body: () throws(FileSystemError) -> Void) {
        answer(body) { reply, _ in reply.code(0) }
    }

    /// Answers an error; or leaves the answer to another thread, if a page of an index is absent and the calling
    /// thread leaves waiting to others.
    consuming func failure(_ error: FileSystemError) {
        if error.isLeft {
            LeavingWaits.noteLeft()
            discard self
            return
        }
        code(error.errno)
    }

    /// Answers an errno; 0 is success.
    consuming func code(_ code: Int32) {
        unsafe fuse_reply_err(request, code)
        discard self
    }

    /// Answers attributes, which the kernel may keep until it is notified.
    ///
    /// - Parameter mayKeep: False if the kernel may not keep them.
    consuming func attributes(_ attributes: Attributes, of node: Node, mayKeep: Bool = true) {
        var status = StatusRecord.make(attributes, node)
        unsafe fuse_reply_attr(request, &status, mayKeep ? StatusRecord.timeout(for: attributes, node) : 0)
        discard self
    }

    /// Answers an entry; counts it in `lookups`, as the kernel now knows the node.
    ///
    /// - Parameters:
    ///   - nameTimeout: How long the kernel may keep the name, in seconds; nil for as long as the node's kind lets it.
    ///   - generation: Tells this item from earlier ones with the same number.
    consuming func entry(
        _ attributes: Attributes, of node: Node, _ lookups: LookupTable, nameTimeout: Double? = nil,
        generation: UInt64 = StatusRecord.generation
    ) {
        var entry = StatusRecord.entry(attributes, node)
        entry.generation = generation
        if let nameTimeout { entry.entry_timeout = nameTimeout }
        lookups.add(node)
        if unsafe fuse_reply_entry(request, &entry) != 0 { _ = lookups.subtract(1, from: node) }
        discard self
    }

    /// Answers that a name does not exist, which the kernel may cache.
    consuming func noEntry() {
        var entry = fuse_entry_param()
        entry.entry_timeout = StatusRecord.timeout
        unsafe fuse_reply_entry(request, &entry)
        discard self
    }

    /// Answers with a file that was created and opened.
    consuming func created(
        _ attributes: Attributes, of node: Node, _ lookups: LookupTable,
        _ file: fuse_file_info
    ) {
        var entry = StatusRecord.entry(attributes, node)
        var file = file
        file.keep_cache = 1
        lookups.add(node)
        if unsafe fuse_reply_create(request, &entry, &file) != 0 { _ = lookups.subtract(1, from: node) }
        discard self
    }

    /// Answers bytes.
    consuming func bytes(_ bytes: RawSpan) {
        send(bytes)
        discard self
    }

    /// Answers the entries of a directory.
    consuming func listing(_ listing: DirectoryListing) {
        listing.withBytes { send($0) }
        discard self
    }

    /// Answers the first bytes of a buffer.
    consuming func bytes(_ buffer: AlignedBuffer, _ count: Int) {
        buffer.withBytes(0..<count) { send($0) }
        discard self
    }

    /// Answers bytes from several buffers.
    consuming func bytes(_ parts: [ReadPart]) {
        // SAFETY: the parts are lent for this call, in which libfuse writes them to the kernel.
        var vectors = unsafe parts.map { part in
            unsafe part.buffer.withBytes(part.range) { bytes in
                unsafe bytes.withUnsafeBytes {
                    unsafe iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
                }
            }
        }
        unsafe fuse_reply_iov(request, &vectors, Int32(vectors.count))
        discard self
    }

    private borrowing func send(_ bytes: RawSpan) {
        // SAFETY: libfuse has written the bytes to the kernel when the call returns.
        unsafe bytes.withUnsafeBytes { raw in
            _ = unsafe fuse_reply_buf(
                request, raw.baseAddress?.assumingMemoryBound(to: CChar.self), raw.count)
        }
    }

    /// Answers the number of bytes written.
    consuming func written(_ count: Int) {
        unsafe fuse_reply_write(request, count)
        discard self
    }

    /// Answers the size of an attribute's value in bytes.
    consuming func attributeByteCount(_ count: Int) {
        unsafe fuse_reply_xattr(request, count)
        discard self
    }

    /// Answers a position in a file.
    consuming func position(_ offset: Int64) {
        unsafe fuse_reply_lseek(request, Int(offset))
        discard self
    }

    /// Answers the target of a symbolic link.
    consuming func link(_ target: [UInt8]) {
        unsafe (target + [0]).withUnsafeBytes { raw in
            _ = unsafe fuse_reply_readlink(request, raw.baseAddress?.assumingMemoryBound(to: CChar.self))
        }
        discard self
    }

    /// Answers the space of the file system.
    consuming func space(_ space: StorageSpace, nameMax: Int) {
        var record = statvfs()
        record.f_bsize = 4096
        record.f_frsize = 4096
        record.f_blocks = UInt(space.total / 4096)
        record.f_bfree = UInt(space.free / 4096)
        record.f_bavail = UInt(space.available / 4096)
        record.f_files = UInt(space.files)
        record.f_ffree = UInt(space.freeFiles)
        record.f_favail = UInt(space.freeFiles)
        record.f_namemax = UInt(nameMax)
        unsafe fuse_reply_statfs(request, &record)
        discard self
    }

    /// Lends the request to libfuse's own helper functions.
    borrowing func withRequest<Result>(_ body: (fuse_req_t) -> Result) -> Result {
        unsafe body(request)
    }
}

extension FileSystemError {
    /// Whether the request is performed again, by another thread that may wait for a page of an index.
    var isLeft: Bool {
        if case .pageAbsent = self { LeavingWaits.isOn } else { false }
    }
}
