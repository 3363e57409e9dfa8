internal import CFuse3
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// The functions that libfuse calls, one for each kind of request.
///
/// Each answers before it returns, or passes the request to a thread that answers it. They are outside any
/// actor, since libfuse calls them on a plain thread.
enum Operations {
    /// The table for fuse_session_new.
    static func table() -> fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        unsafe table.`init` = { unsafe Operations.initialise($0, $1) }
        unsafe table.lookup = { unsafe Operations.lookup($0, $1, $2) }
        unsafe table.forget = { unsafe Operations.forget($0, $1, $2) }
        unsafe table.forget_multi = { unsafe Operations.forgetMany($0, $1, $2) }
        unsafe table.getattr = { unsafe Operations.attributes($0, $1, $2) }
        unsafe table.setattr = { unsafe Operations.setAttributes($0, $1, $2, $3, $4) }
        unsafe table.readlink = { unsafe Operations.readLink($0, $1) }
        unsafe table.mknod = { unsafe Operations.makeNode($0, $1, $2, $3, $4) }
        unsafe table.mkdir = { unsafe Operations.makeDirectory($0, $1, $2, $3) }
        unsafe table.unlink = { unsafe Operations.unlink($0, $1, $2) }
        unsafe table.rmdir = { unsafe Operations.removeDirectory($0, $1, $2) }
        unsafe table.symlink = { unsafe Operations.makeSymbolicLink($0, $1, $2, $3) }
        unsafe table.rename = { unsafe Operations.rename($0, $1, $2, $3, $4, $5) }
        unsafe table.link = { unsafe Operations.link($0, $1, $2, $3) }
        unsafe table.create = { unsafe Operations.create($0, $1, $2, $3, $4) }
        // The kernel needs no open and no opendir, since all state belongs to nodes (FUSE_NO_OPEN_SUPPORT).
        unsafe table.open = { request, _, _ in unsafe Reply(request)?.code(ENOSYS) }
        unsafe table.opendir = { request, _, _ in unsafe Reply(request)?.code(ENOSYS) }
        unsafe table.read = { unsafe Operations.read($0, $1, $2, $3, $4) }
        unsafe table.write = { unsafe Operations.write($0, $1, $2, $3, $4, $5) }
        unsafe table.fsync = { unsafe Operations.sync($0, $1, $2, $3) }
        unsafe table.fsyncdir = { unsafe Operations.sync($0, $1, $2, $3) }
        unsafe table.readdir = { request, node, size, offset, _ in
            unsafe Operations.readDirectory(request, node, size, offset, plus: false)
        }
        unsafe table.readdirplus = { request, node, size, offset, _ in
            unsafe Operations.readDirectory(request, node, size, offset, plus: true)
        }
        unsafe table.statfs = { unsafe Operations.space($0, $1) }
        unsafe table.setxattr = { unsafe Operations.setAttribute($0, $1, $2, $3, $4, $5) }
        unsafe table.getxattr = { unsafe Operations.attribute($0, $1, $2, $3) }
        unsafe table.listxattr = { unsafe Operations.listAttributes($0, $1, $2) }
        unsafe table.removexattr = { unsafe Operations.removeAttribute($0, $1, $2) }
        unsafe table.fallocate = { unsafe Operations.allocate($0, $1, $2, $3, $4, $5) }
        unsafe table.lseek = { unsafe Operations.seek($0, $1, $2, $3, $4) }
        unsafe table.retrieve_reply = { unsafe Operations.retrieved($0, $2, $3, $4) }
        unsafe table.copy_file_range = { unsafe Operations.copyRange($0, $1, $2, $3, $4, $5, $6, $7, $8) }
        return table
    }

    /// The session that a request belongs to.
    static func session(_ request: fuse_req_t?) -> Session? {
        guard let data = unsafe fuse_req_userdata(request) else { return nil }
        // SAFETY: the caller of the session's `run` retains it, and requests come only from that loop.
        return unsafe Unmanaged<Session>.fromOpaque(data).takeUnretainedValue()
    }

    static func caller(_ request: fuse_req_t?) -> Caller {
        guard let context = unsafe fuse_req_ctx(request) else { return Caller(user: 0, group: 0, umask: 0) }
        return unsafe Caller(
            user: context.pointee.uid, group: context.pointee.gid, umask: context.pointee.umask)
    }

    static func name(_ text: UnsafePointer<CChar>?) -> [UInt8] {
        guard let text = unsafe text else { return [] }
        let count = unsafe strlen(text)
        // SAFETY: libfuse hands out NUL-terminated names that live as long as the request.
        return unsafe [UInt8](UnsafeRawBufferPointer(start: text, count: count))
    }
}
