internal import CFuse3
internal import CofferVault
internal import Glibc

/// The answer to a READDIR or READDIRPLUS, while it is built.
struct DirectoryListing {
    private var bytes: [UInt8]
    private var count = 0

    init(byteCount: Int) {
        bytes = [UInt8](repeating: 0, count: byteCount)
    }

    var isEmpty: Bool { count == 0 }

    /// Adds an entry; false if it does not fit.
    ///
    /// With `plus`, the kernel counts an entry that has attributes as looked up.
    mutating func add(_ entry: Vault.Entry, _ node: Node, plus: Bool, to request: fuse_req_t) -> Bool {
        let room = bytes.count - count
        let start = count
        // SAFETY: the name ends with a zero; libfuse writes at most `room` bytes after `start`.
        let needed = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe (entry.name + [0]).withUnsafeBytes { name in
                let target = unsafe buffer.baseAddress?.advanced(by: start).assumingMemoryBound(
                    to: CChar.self)
                let text = unsafe name.baseAddress?.assumingMemoryBound(to: CChar.self)
                if plus {
                    var record = Self.record(entry, node)
                    return unsafe fuse_add_direntry_plus(
                        request, target, room, text, &record, Int(entry.cookie))
                }
                var status = stat()
                status.st_ino = UInt(node.number)
                status.st_mode = UInt32(entry.type) << 12
                return unsafe fuse_add_direntry(request, target, room, text, &status, Int(entry.cookie))
            }
        }
        guard needed <= room else { return false }
        count += needed
        return true
    }

    /// With node 0, the kernel takes only the name, as "." and ".." require.
    private static func record(_ entry: Vault.Entry, _ node: Node) -> fuse_entry_param {
        if let attributes = entry.attributes { return StatusRecord.entry(attributes, node) }
        var record = fuse_entry_param()
        record.attr.st_ino = UInt(node.number)
        record.attr.st_mode = UInt32(entry.type) << 12
        return record
    }

    func withBytes(_ body: (RawSpan) -> Void) {
        unsafe body(bytes.span.bytes.extracting(0..<count))
    }
}
