internal import CFuse3
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// Invalidates what the kernel caches of a mount.
///
/// Each call waits for requests that use the same directory or page. So no request may make one, and no
/// caller may hold a lock that a request takes. The kernel answers ENOENT for a node or name that it does not
/// know, and other errors while the mount ends; in both cases nothing has to be invalidated.
@safe
// SAFETY: `session` lives until the deinit of `Session`, which comes after the thread of `Notifier` has ended, and which
// other threads that notify keep from coming; libfuse lets any thread notify, as that is one write to the connection.
struct KernelCache {
    private let session: OpaquePointer
    private let notifications: Notifications
    private static let pageByteCount: Int64 = 4096

    init(_ session: OpaquePointer, _ notifications: Notifications) {
        unsafe self.session = unsafe session
        self.notifications = notifications
    }

    /// A name that is too long for any directory to have it.
    private static let noName = [UInt8](repeating: 1, count: Vault.nameByteCountMax + 1)

    /// Makes the kernel look a name up again, and forget its item if no program uses it.
    ///
    /// Waits for requests in progress in the directory.
    func forgetEntry(_ name: [UInt8], in parent: Node) {
        unsafe (name + [0]).withUnsafeBytes { raw in
            let text = unsafe raw.baseAddress?.assumingMemoryBound(to: CChar.self)
            notifications.perform {
                _ = unsafe fuse_lowlevel_notify_inval_entry(session, parent.number, text, name.count)
            }
        }
    }

    /// Waits for requests in progress in a directory.
    func awaitRequests(in directory: Node) {
        forgetEntry(Self.noName, in: directory)
    }

    /// Whether `awaitRequests` waits: from Linux 6.19 on, the kernel looks the name up without the directory's lock.
    static let awaitsRequests = KernelVersion.running.map { $0 < KernelVersion(6, 19) } ?? false
    /// How long a call with a node's lock goes on, as a rule, after its request was answered or its place was chosen,
    /// in microseconds.
    private static let callPause: UInt32 = 20_000

    /// Waits until each call that holds a node's lock has ended: a write(2) to a file has filled its pages, a lookup in
    /// a directory has reached the kernel.
    ///
    /// The kernel takes the lock before it sees that a file has no names that could be forgotten.
    func awaitCalls(in node: Node) {
        awaitRequests(in: node)
        if !Self.awaitsRequests { usleep(Self.callPause) }
    }

    /// Makes the kernel read a directory's listing and attributes again.
    ///
    /// Call this after `forgetEntry`, which waits for listings in progress.
    func forgetListing(of directory: Node) {
        notifyInvalid(directory, 0, 0)
    }

    /// Makes the kernel request a node's attributes and ACLs again.
    ///
    /// The kernel still keeps the size and times of a file that it has cached.
    func forgetAttributes(of node: Node) {
        notifyInvalid(node, -1, 0)
    }

    /// Makes the kernel write dirty pages from `offset` on, and read all those pages again.
    func forgetContent(of node: Node, from offset: Int64) {
        let start = offset - offset % Self.pageByteCount
        notifyInvalid(node, Int(start), 0)
    }

    /// Makes the kernel write the dirty pages of a range, and read its pages again.
    func forgetContent(of node: Node, _ range: Range<Int64>) {
        let start = range.lowerBound - range.lowerBound % Self.pageByteCount
        // To the kernel, 0 means everything that follows.
        let count = range.upperBound == .max ? 0 : range.upperBound - start
        notifyInvalid(node, Int(start), Int(count))
    }

    /// Makes the kernel send its pages of a range in a request, `Operations.retrieved`, up to the first that it does
    /// not have.
    ///
    /// - Returns: False if the kernel does not know the node, so that it has nothing of it.
    func requestContent(of node: Node, _ range: Range<Int64>) -> Bool {
        var code: Int32 = 0
        notifications.perform {
            code = unsafe fuse_lowlevel_notify_retrieve(
                session, node.number, range.count, off_t(range.lowerBound), nil)
        }
        return code != -ENOENT
    }

    private func notifyInvalid(_ node: Node, _ start: Int, _ count: Int) {
        notifications.perform {
            _ = unsafe fuse_lowlevel_notify_inval_inode(session, node.number, start, count)
        }
    }

    /// Extends a cached file up to and including the byte at `offset`.
    ///
    /// This is the only way to make the kernel accept a new size for a file that it has cached.
    func store(_ byte: UInt8, at offset: Int64, of node: Node) {
        var byte = byte
        unsafe withUnsafeMutableBytes(of: &byte) { raw in
            var vector = fuse_bufvec()
            vector.count = 1
            unsafe vector.buf.size = 1
            unsafe vector.buf.mem = raw.baseAddress
            notifications.perform {
                _ = unsafe fuse_lowlevel_notify_store(
                    session, node.number, Int(offset), &vector, fuse_buf_copy_flags(0))
            }
        }
    }
}
