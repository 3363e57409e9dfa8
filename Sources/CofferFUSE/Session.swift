internal import CCofferSystem
internal import CFuse3
package import CofferSystem
internal import CofferVault
internal import Glibc

/// A mount: the connection to the kernel and the loop that serves it.
///
/// One thread receives and answers. After each request it looks for the next one for some microseconds
/// before it sleeps, as waking a thread is what a small request costs most; an idle mount uses no CPU.
// SAFETY: `session` is set by `mount`, before there are other threads, and lives until deinit. `run`, `channel`'s
// reads and all that requests use belong to the serving thread. Other threads answer held requests, call
// `forgetRootEntry` and `end`: libfuse, `Channel.write` and a pipe allow that from any thread.
@safe
package final class Session: @unchecked Sendable {
    /// The most bytes of content in a request.
    static let requestByteCountMax = 1 << 20

    let fileSystem: FileSystem
    let lookups = LookupTable()
    let syncThread = SyncThread()
    let deferred = DeferredReads()
    /// Where reads put what they answer.
    let buffer = AlignedBuffer(count: requestByteCountMax)
    private let channel: Channel
    private let serving: @Sendable () -> Void
    private var session: OpaquePointer?

    /// Prepares a mount of `root`.
    ///
    /// - Parameters:
    ///   - keepsAccessTimes: Whether reading leaves times of access alone.
    ///   - serving: Called once, when the mount answers requests.
    package init(
        root: any VaultDirectory, keepsAccessTimes: Bool, serving: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        channel = try Channel()
        fileSystem = FileSystem(root: root, keepsAccessTimes: keepsAccessTimes)
        self.serving = serving
    }

    deinit {
        if let session = unsafe session { unsafe fuse_session_destroy(session) }
    }

    /// Mounts.
    ///
    /// As mount(2), or by fusermount3(1) for users other than root.
    ///
    /// - Parameter options: Of mount(8), for the kernel and libfuse.
    /// - Throws: What kept libfuse from it; libfuse has told details on standard error.
    package func mount(at mountPoint: String, options: [String]) throws(SystemError) {
        var operations = Operations.table()
        var arguments = unsafe ["coffer", "-o", options.joined(separator: ",")].map { (text: String) in
            unsafe strdup(text)
        }
        defer { unsafe arguments.forEach { argument in unsafe free(argument) } }
        let owner = unsafe Unmanaged.passUnretained(self).toOpaque()
        let made = unsafe arguments.withUnsafeMutableBufferPointer { argv in
            unsafe Self.makeSession(argv, &operations, owner)
        }
        guard let made = unsafe made else {
            throw SystemError("mount", code: EINVAL, on: "mount options \(options.joined(separator: ","))")
        }
        unsafe session = unsafe made
        errno = 0
        guard unsafe fuse_session_mount(made, mountPoint) == 0 else {
            throw SystemError("mount", code: errno == 0 ? EPERM : errno, on: mountPoint)
        }
        let descriptor = unsafe fuse_session_fd(made)
        var io = fuse_custom_io()
        unsafe io.read = { descriptor, buffer, count, data in
            guard let buffer = unsafe buffer, let session = unsafe Session.from(data) else { return -1 }
            return unsafe session.channel.read(descriptor, buffer, count)
        }
        unsafe io.writev = { descriptor, parts, count, data in
            guard let parts = unsafe parts, let session = unsafe Session.from(data) else { return -1 }
            return unsafe session.channel.write(descriptor, parts, count)
        }
        _ = coffer_set_nonblocking(descriptor, 1)
        guard unsafe fuse_session_custom_io(made, &io, descriptor) == 0 else {
            throw SystemError("mount", code: ENOMEM, on: mountPoint)
        }
    }

    private static func makeSession(
        _ arguments: UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>,
        _ operations: inout fuse_lowlevel_ops, _ owner: UnsafeMutableRawPointer
    ) -> OpaquePointer? {
        var list = unsafe fuse_args(argc: Int32(arguments.count), argv: arguments.baseAddress, allocated: 0)
        defer { unsafe fuse_opt_free_args(&list) }
        return unsafe fuse_session_new(&list, &operations, MemoryLayout<fuse_lowlevel_ops>.size, owner)
    }

    private static func from(_ data: UnsafeMutableRawPointer?) -> Session? {
        guard let data = unsafe data else { return nil }
        // SAFETY: set by `mount` to self, which is alive as long as its session is served.
        return unsafe Unmanaged<Session>.fromOpaque(data).takeUnretainedValue()
    }

    /// Serves requests until the mount is gone.
    package func run() {
        guard let session = unsafe session else { return }
        var request = unsafe fuse_buf()
        defer { unsafe free(request.mem) }
        while unsafe fuse_session_exited(session) == 0 {
            let result = unsafe fuse_session_receive_buf(session, &request)
            if result == -EINTR || result == -EAGAIN { continue }
            if result <= 0 { break }
            unsafe fuse_session_process_buf(session, &request)
        }
        syncThread.stop()
        deferred.wait()
    }

    /// Makes `run` return, whoever still uses the mount.
    ///
    /// From any thread.
    package func end() {
        channel.end()
    }

    var requestDropsPrivileges: Bool { channel.dropsPrivileges }

    func noteServing() {
        serving()
    }

    /// Counts a node as forgotten; one that nobody knows any more may go.
    func forget(_ node: Node, _ count: UInt64) {
        guard !node.isRoot, lookups.subtract(count, from: node) else { return }
        fileSystem.root.vault(slot: node.slot)?.vault.release(node.item)
    }

    func noteAccess(_ node: Node) {
        if fileSystem.keepsAccessTimes || node.isRoot { return }
        fileSystem.root.vault(slot: node.slot)?.vault.noteAccess(node.item)
    }

    /// Makes the kernel look a name in the root up again.
    ///
    /// Not to be called by a request, nor under a lock that requests take.
    package func forgetRootEntry(_ name: [UInt8]) {
        guard let session = unsafe session else { return }
        unsafe (name + [0]).withUnsafeBytes { raw in
            let text = unsafe raw.baseAddress?.assumingMemoryBound(to: CChar.self)
            _ = unsafe fuse_lowlevel_notify_inval_entry(session, Node.root.number, text, name.count)
        }
        _ = unsafe fuse_lowlevel_notify_inval_inode(session, Node.root.number, 0, 0)
    }
}
