internal import CCofferSystem
internal import CFuse3
package import CofferSystem
package import CofferVault
internal import Glibc

/// A mount: the connection to the kernel, and the loop that serves it.
///
/// One thread receives and answers requests. After each, it polls for the next one for some microseconds
/// before it sleeps, since waking a thread is the largest cost of a small request. While the disk works on
/// scattered reads, it goes on receiving, and answers them as they end. An idle mount uses no CPU.
@safe
// SAFETY: `session` is set by `mount` or `resume`, before there are other threads, and lives until deinit. `run`,
// `reads`, `buffer`, all that requests use, and `channel`, but for what it says is for any thread, belong to the
// serving thread. Other threads (those of `syncs`, `namesThread`, `seekThread`, `trashThread`, `waiting`,
// `pastRequests`, `pastReads`, and `pastFlushThreads`, each with a lock around its queue, and those of `deferred`)
// answer held requests; any thread calls `forgetRootEntry`, `withoutPast`, `end`, and what locks the profile
// (`Session+Locking`): libfuse allows that. Work for a held request and for locking uses `lookups`, `listingEnds`,
// `notifier`, `gate`, `failedWrites`, `retrievedPages`, `notifications`, `spoilt`, `fileSystem.past`,
// `fileSystem.trash` (`drafts`, and else nothing that changes), and vaults, which have locks of their own. `state` is for use after `run`.
package final class Session: @unchecked Sendable {
    /// From which time on the debug log tells of a request, in nanoseconds.
    private static let longRequest: Int64 = 10_000_000

    /// The maximum number of content bytes in a request.
    static let requestByteCountMax = 1 << 20

    let fileSystem: FileSystem
    let lookups = LookupTable()
    let notifier: Notifier
    let syncs = SyncGroups()
    let namesThread = RequestThread("coffer-names")
    let seekThread = RequestThread("coffer-seek")
    let waiting = WaitingRequests()
    /// Requests about the past that may wait for commits and large directories.
    let pastRequests = WaitingRequests("coffer-past")
    /// Those that may wait for the remote, and reads of info files in the trash.
    let pastReads = WaitingRequests("coffer-past-get", max: 8)
    /// Those that wait until the kernel has written its cached pages of a past file.
    let pastFlushThreads = (0..<4).map { _ in RequestThread("coffer-past-out") }
    let trashThread = RequestThread("coffer-trash")
    let spoilt = SpoiltFiles()
    let deferred = DeferredReads()
    let listingEnds = RankedMutex(ListingEnds(), rank: .leaf)
    /// The reads that the disk works on while the serving thread takes other requests.
    let reads = ReadsInFlight()
    /// The buffer for the answers to reads; in use only while a request is performed, or a read ends.
    let buffer = AlignedBuffer(count: requestByteCountMax)
    let channel: Channel
    let gate: Gate
    let failedWrites = FailedWrites()
    let retrievedPages = RetrievedPages()
    let notifications = Notifications()
    private let serving: @Sendable () -> Void
    private var session: OpaquePointer?

    /// Prepares a mount of `root`.
    ///
    /// - Parameters:
    ///   - keepsAccessTimes: Whether reading leaves access times unchanged.
    ///   - idle: Learns of each use of the mount; nil if nothing depends on it.
    ///   - pastIdleTime: How long a past state may stay open that nothing uses, in nanoseconds; for tests.
    ///   - serving: Called once, when the mount answers requests.
    package init(
        root: any VaultDirectory, keepsAccessTimes: Bool, idle: IdleTime? = nil, pastIdleTime: Int64? = nil,
        serving: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let owner = root.owner
        gate = Gate(LockedAnswers(user: owner.user, group: owner.group, changed: root.changed), idle)
        channel = try Channel(reads, gate, failedWrites)
        notifier = Notifier(lookups)
        let past = PastTrees(root, known: lookups.past, idleTime: pastIdleTime ?? PastTrees.idleTime)
        fileSystem = FileSystem(
            root: root, keepsAccessTimes: keepsAccessTimes, past: past,
            trash: TrashFolder(root, notifier))
        self.serving = serving
    }

    deinit {
        notifier.join()
        if let session = unsafe session { unsafe fuse_session_destroy(session) }
    }

    /// Mounts, like mount(2), or by fusermount3(1) for users other than root.
    ///
    /// - Parameter options: Of mount(8), for the kernel and libfuse.
    /// - Throws: The error that stopped libfuse; libfuse prints details on standard error.
    package func mount(at mountPoint: String, options: [String]) throws(SystemError) {
        let made = try unsafe makeSession(options)
        errno = 0
        guard unsafe fuse_session_mount(made, mountPoint) == 0 else {
            throw SystemError("mount", code: errno == 0 ? EPERM : errno, on: mountPoint)
        }
        try unsafe serve(made, fuse_session_fd(made))
    }

    /// Continues a mount that another process has served until now.
    ///
    /// - Parameters:
    ///   - connection: The connection to the kernel; this session takes it over.
    ///   - options: Those of the mount.
    /// - Returns: False if libfuse chooses other features than it did when the connection began.
    package func resume(
        _ connection: consuming Descriptor, _ state: ConnectionState, options: [String]
    ) throws(SystemError) -> Bool {
        let made = try unsafe makeSession(options)
        lookups.restore(state.lookups)
        channel.resume(after: state.initialisation)
        // libfuse closes it with its session.
        try unsafe serve(made, connection.release())
        var request = unsafe fuse_buf()
        defer { unsafe free(request.mem) }
        if unsafe fuse_session_receive_buf(made, &request) > 0 {
            unsafe fuse_session_process_buf(made, &request)
        }
        return channel.hasResumed
    }

    /// Makes a session of libfuse, which this object owns.
    private func makeSession(_ options: [String]) throws(SystemError) -> OpaquePointer {
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
        return unsafe made
    }

    /// Prepares to serve a connection.
    private func serve(_ made: OpaquePointer, _ descriptor: Int32) throws(SystemError) {
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
            throw SystemError("mount", code: ENOMEM)
        }
        try unsafe notifier.start(KernelCache(made, notifications))
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
    /// - Parameter ending: Called once the mount is gone. It must make reads in progress end, since `run`
    ///   then waits for them.
    package func run(ending: () -> Void = {}) {
        guard let session = unsafe session else { return }
        var request = unsafe fuse_buf()
        defer { unsafe free(request.mem) }
        while unsafe fuse_session_exited(session) == 0 {
            let result = unsafe fuse_session_receive_buf(session, &request)
            if result == -EINTR || result == -EAGAIN { continue }
            if result <= 0 { break }
            let timer = LogTimer(.trace)
            unsafe fuse_session_process_buf(session, &request)
            if timer.elapsed > Self.longRequest {
                DebugLog.log(.trace, .mount, "a request of the kernel took \(timer)")
            }
        }
        channel.endWaits()
        while reads.endNext(waits: true) {}
        notifier.join()
        syncs.stop()
        waiting.stop()
        namesThread.stop()
        seekThread.stop()
        deferred.end()
        ending()
        deferred.wait()
        pastRequests.stop()
        pastReads.stop()
        trashThread.stop()
        for thread in pastFlushThreads { thread.stop() }
        fileSystem.past.stop()
    }

    /// Makes `run` return, even while programs use the mount.
    ///
    /// Any thread may call this.
    package func end() {
        endNotifications { [self] in
            // Those of an attempt to lock the profile.
            notifications.end()
            channel.end()
        }
    }

    /// Ends what makes the kernel write cached pages, and then calls `body`.
    ///
    /// The kernel may make it wait until requests are answered.
    func endNotifications(then body: @escaping @Sendable () -> Void) {
        notifier.stop { [self] in
            seekThread.stop()
            body()
        }
    }

    /// The kernel's caches of this mount; nil before there is one.
    var kernelCache: KernelCache? {
        guard let session = unsafe session else { return nil }
        return unsafe KernelCache(session, notifications)
    }

    /// Copies the connection to the kernel, for another process.
    package func copyConnection() throws(SystemError) -> Descriptor {
        guard let session = unsafe session else { throw SystemError("dup", code: EBADF) }
        return try Descriptor.copy(of: unsafe fuse_session_fd(session))
    }

    /// Makes the sink that receives the changes of a slot's vault from outside the mount.
    package var changes: @Sendable (UInt16) -> any ChangeSink {
        { [notifier] slot in VaultChanges(slot: slot, notifier: notifier) }
    }

    var requestDropsPrivileges: Bool { channel.dropsPrivileges }
    var severalCallers: Bool { channel.callers.areSeveral }

    func noteServing() {
        serving()
    }

    /// Subtracts lookups from a node, and releases it in its vault once the kernel has forgotten it.
    func forget(_ node: Node, _ count: UInt64) {
        guard !node.isRoot, lookups.subtract(count, from: node) else { return }
        // With the node, the kernel has dropped its pages.
        failedWrites.removeAll(of: node)
        notifier.noteForgotten(node)
        if fileSystem.isPast(node) {
            spoilt.remove(node)
            return fileSystem.past.releaseIfUnknown(node.slot)
        }
        if node.isTrash { return fileSystem.trash.drafts.forget(node) }
        fileSystem.root.vault(slot: node.slot)?.vault.release(node.item)
    }

    /// Makes the kernel look up names again that a request has moved while its cache may have been out of
    /// date.
    ///
    /// The kernel may have moved another item in its cache than the vault did.
    func noteMove(_ names: @autoclosure () -> [Vault.Name], _ nameless: Int64?, in node: Node) {
        guard notifier.isActive, let vault = fileSystem.root.vault(slot: node.slot)?.vault else { return }
        for name in names() { notifier.enqueueAtOnce(.entry(name), in: vault, node.slot) }
        if let nameless { notifier.enqueueAtOnce(.nameless(item: nameless), in: vault, node.slot) }
    }

    func noteAccess(_ node: Node) {
        if fileSystem.keepsAccessTimes || node.isRoot || node.isTrash || fileSystem.isPast(node) { return }
        guard let vault = fileSystem.root.vault(slot: node.slot)?.vault else { return }
        let isDone = LeavingWaits.perform {
            if !vault.noteAccess(node.item) { LeavingWaits.noteLeft() }
        }
        if !isDone { waiting.perform { _ = vault.noteAccess(node.item) } }
    }

    /// Makes the kernel look up a name in the root again.
    ///
    /// No request may call this, and no caller may hold a lock that requests take.
    package func forgetRootEntry(_ name: [UInt8]) {
        guard let cache = kernelCache else { return }
        cache.forgetEntry(name, in: .root)
        cache.forgetListing(of: .root)
    }
}
