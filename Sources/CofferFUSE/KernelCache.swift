internal import CFuse3
internal import CofferSystem
internal import CofferVault

/// What the kernel remembers of a mount, seen from the side that has it forget.
///
/// Each call waits for requests that use the same directory or page, so none may be made by a request, nor
/// under a lock that one takes. The kernel answers ENOENT where it knows nothing, and other errors while the
/// mount ends: neither leaves anything to forget.
@safe
// SAFETY: `session` lives until the session's deinit, which comes after the thread of `Notifier` has ended; libfuse
// lets any thread notify, as a notification is one write to the connection.
struct KernelCache {
    private let session: OpaquePointer
    private static let pageByteCount: Int64 = 4096

    init(_ session: OpaquePointer) {
        unsafe self.session = unsafe session
    }

    /// A name that no directory has: it is too long.
    private static let noName = [UInt8](repeating: 1, count: Vault.nameByteCountMax + 1)

    /// Has a name looked up again, and the item forgotten if nobody uses it.
    ///
    /// What is under way in the directory comes first.
    func forgetEntry(_ name: [UInt8], in parent: Node) {
        unsafe (name + [0]).withUnsafeBytes { raw in
            let text = unsafe raw.baseAddress?.assumingMemoryBound(to: CChar.self)
            _ = unsafe fuse_lowlevel_notify_inval_entry(session, parent.number, text, name.count)
        }
    }

    /// Waits for what is under way in a directory.
    func awaitRequests(in directory: Node) {
        forgetEntry(Self.noName, in: directory)
    }

    /// Has the listing and the attributes of a directory read again.
    ///
    /// To be called behind `forgetEntry`, which lets listings that are under way end.
    func forgetListing(of directory: Node) {
        _ = unsafe fuse_lowlevel_notify_inval_inode(session, directory.number, 0, 0)
    }

    /// Has attributes and ACLs asked for again.
    ///
    /// The kernel keeps size and times of a file that it has, even so.
    func forgetAttributes(of node: Node) {
        _ = unsafe fuse_lowlevel_notify_inval_inode(session, node.number, -1, 0)
    }

    /// Has dirty pages from `offset` on written, and all pages read again.
    func forgetContent(of node: Node, from offset: Int64) {
        let start = offset - offset % Self.pageByteCount
        _ = unsafe fuse_lowlevel_notify_inval_inode(session, node.number, Int(start), 0)
    }

    /// Has dirty pages of a range written, and its pages read again.
    func forgetContent(of node: Node, _ range: Range<Int64>) {
        let start = range.lowerBound - range.lowerBound % Self.pageByteCount
        // The kernel takes 0 for all that follows.
        let count = range.upperBound == .max ? 0 : range.upperBound - start
        _ = unsafe fuse_lowlevel_notify_inval_inode(session, node.number, Int(start), Int(count))
    }

    /// Makes a file longer, up to and with the byte at `offset`: the only way by which the kernel takes a new
    /// size for a file that it has.
    func store(_ byte: UInt8, at offset: Int64, of node: Node) {
        var byte = byte
        unsafe withUnsafeMutableBytes(of: &byte) { raw in
            var vector = fuse_bufvec()
            vector.count = 1
            unsafe vector.buf.size = 1
            unsafe vector.buf.mem = raw.baseAddress
            _ = unsafe fuse_lowlevel_notify_store(
                session, node.number, Int(offset), &vector, fuse_buf_copy_flags(0))
        }
    }
}
