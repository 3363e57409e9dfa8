internal import CFuse3
internal import CofferFormat
internal import CofferVault
internal import Glibc

// Requests about extended attributes.
extension Operations {
    private static let create: Int32 = 1
    private static let replace: Int32 = 2

    static func setAttribute(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ name: UnsafePointer<CChar>?,
        _ value: UnsafePointer<CChar>?, _ size: Int, _ flags: Int32
    ) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        let name = unsafe self.name(name)
        // SAFETY: libfuse lends `size` bytes until the request is answered.
        let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : size))
        let held = unsafe HeldRequest(request)
        session.perform(held) { reply in
            reply.confirm { () throws(FileSystemError) in
                if node.isRoot || node.isTrash { throw .notSupported }
                let mode: Vault.AttributeMode = flags == create ? .create : flags == replace ? .replace : .any
                try session.fileSystem.vault(node).setExtendedAttribute(name, of: node.item, to: bytes, mode)
                {
                    unsafe held.withRequest { unsafe groups(of: $0) }
                }
            }
        }
    }

    /// The groups of the caller; nil for root, which they do not restrict.
    private static func groups(of request: fuse_req_t?) -> [UInt32]? {
        let caller = unsafe caller(request)
        if caller.user == 0 { return nil }
        var groups = [gid_t](repeating: 0, count: 1024)
        let count = unsafe fuse_req_getgroups(request, Int32(groups.count), &groups)
        return [caller.group] + groups.prefix(Int(max(0, min(count, 1024))))
    }

    static func attribute(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ size: Int
    ) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        let name = unsafe self.name(name)
        unsafe session.perform(HeldRequest(request)) { reply in
            reply.answer({ () throws(FileSystemError) in
                if node.isRoot || node.isTrash { throw .attributeNotFound }
                return try session.fileSystem.extendedAttribute(name, of: node)
            }) { reply, value in give(value, size, reply) }
        }
    }

    static func listAttributes(_ request: fuse_req_t?, _ number: fuse_ino_t, _ size: Int) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        unsafe session.perform(HeldRequest(request)) { reply in
            reply.answer({ () throws(FileSystemError) -> [[UInt8]] in
                if node.isRoot || node.isTrash { return [] }
                return try session.fileSystem.extendedAttributeNames(of: node)
            }) { reply, names in give(names.flatMap { $0 + [0] }, size, reply) }
        }
    }

    /// Answers the bytes, or only their number if the caller gave no buffer.
    private static func give(_ bytes: [UInt8], _ size: Int, _ reply: consuming Reply) {
        if size == 0 { return reply.attributeByteCount(bytes.count) }
        guard bytes.count <= size else { return reply.failure(.bufferTooSmall) }
        unsafe reply.bytes(bytes.span.bytes)
    }

    static func removeAttribute(_ request: fuse_req_t?, _ number: fuse_ino_t, _ name: UnsafePointer<CChar>?) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        let name = unsafe self.name(name)
        unsafe session.perform(HeldRequest(request)) { reply in
            reply.confirm { () throws(FileSystemError) in
                if node.isRoot || node.isTrash { throw .attributeNotFound }
                try session.fileSystem.vault(node).removeExtendedAttribute(name, of: node.item)
            }
        }
    }
}
