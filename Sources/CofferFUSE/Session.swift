internal import CCofferSystem
internal import CFuse3
package import CofferSystem
package import CofferVault
internal import Glibc

/// A mount: the connection to the kernel and the loop that serves it.
///
/// One thread receives and answers. After each request it looks for the next one for some microseconds
/// before it sleeps, as waking a thread is what a small request costs most; an idle mount uses no CPU.
@safe
// SAFETY: `session` is set by `mount`, before there are other threads, and lives until deinit. `run`, `channel`'s
// reads and all that requests use belong to the serving thread. Other threads (`syncThread`, `namesThread`, `seekThread`,
// each with a lock of its own around what waits for it, and those of `deferred`) answer held requests; any thread calls
// `forgetRootEntry` and `end`: libfuse, `Channel.write` and a pipe allow that. What is performed for a held request
// uses `lookups`, `notifier` and vaults, which have locks of their own.
package final class Session: @unchecked Sendable {
    /// The most bytes of content in a request.
    static let requestByteCountMax = 1 << 20

    let fileSystem: FileSystem
    let lookups = LookupTable()
    let notifier: Notifier
    let syncThread = RequestThread("coffer-sync")
    let namesThread = RequestThread("coffer-names")
    let seekThread = RequestThread("coffer-seek")
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
        notifier = Notifier(lookups)
        fileSystem = FileSystem(root: root, keepsAccessTimes: keepsAccessTimes)
        self.serving = serving
    }

    deinit {
        notifier.join()
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
        try unsafe notifier.start(KernelCache(made))
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
    ///
    /// - Parameter ending: Called then. Reads may still be under way, for which it has nobody wait any more.
    package func run(ending: () -> Void = {}) {
        guard let session = unsafe session else { return }
        var request = unsafe fuse_buf()
        defer { unsafe free(request.mem) }
        while unsafe fuse_session_exited(session) == 0 {
            let result = unsafe fuse_session_receive_buf(session, &request)
            if result == -EINTR || result == -EAGAIN { continue }
            if result <= 0 { break }
            unsafe fuse_session_process_buf(session, &request)
        }
        notifier.join()
        syncThread.stop()
        namesThread.stop()
        seekThread.stop()
        deferred.end()
        ending()
        deferred.wait()
    }

    /// Makes `run` return, whoever still uses the mount.
    ///
    /// From any thread.
    package func end() {
        // The kernel may keep the notifier waiting until requests are answered.
        notifier.stop { [self] in
            seekThread.stop()
            channel.end()
        }
    }

    /// Where the vault of a slot says what changes in it from outside of the mount.
    package var changes: @Sendable (UInt16) -> any ChangeSink {
        { [notifier] slot in VaultChanges(slot: slot, notifier: notifier) }
    }

    var requestDropsPrivileges: Bool { channel.dropsPrivileges }

    func noteServing() {
        serving()
    }

    /// Performs a request that changes names in a vault: at once, or, while changes from elsewhere hold the names, on a
    /// thread that may wait for them.
    ///
    /// - Parameter body: Answers the request; runs once.
    func changeNames(
        in node: Node, _ request: HeldRequest, _ body: @escaping @Sendable (consuming Reply) -> Void
    ) {
        let perform: @Sendable () -> Void = {
            if let reply = request.reply { body(reply) }
        }
        guard !node.isRoot, let vault = fileSystem.root.vault(slot: node.slot)?.vault else {
            return perform()
        }
        if vault.performUnlessNamesAreHeld(perform) { return }
        // Without a thread this one waits.
        if !namesThread.take(perform) { perform() }
    }

    /// Counts a node as forgotten; one that nobody knows any more may go.
    func forget(_ node: Node, _ count: UInt64) {
        guard !node.isRoot, lookups.subtract(count, from: node) else { return }
        fileSystem.root.vault(slot: node.slot)?.vault.release(node.item)
    }

    /// Has the kernel look names up again that a request has moved while it may not have known where they lead:
    /// what it moved along may be something else than what the vault moved.
    func noteMove(_ names: @autoclosure () -> [Vault.Name], _ nameless: Int64?, in node: Node) {
        guard notifier.isActive, let vault = fileSystem.root.vault(slot: node.slot)?.vault else { return }
        for name in names() { notifier.noteAtOnce(.entry(name), in: vault, node.slot) }
        if let nameless { notifier.noteAtOnce(.nameless(item: nameless), in: vault, node.slot) }
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
        let cache = unsafe KernelCache(session)
        cache.forgetEntry(name, in: .root)
        cache.forgetListing(of: .root)
    }
}
