internal import CFuse3
internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc

// Requests about attributes and content.
extension Operations {
    static func attributes(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ file: UnsafeMutablePointer<fuse_file_info>?
    ) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        unsafe session.perform(HeldRequest(request), about: node) { reply in
            reply.answer({ () throws(FileSystemError) in
                try session.fileSystem.attributes(of: node)
            }) { reply, attributes in reply.attributes(attributes, of: node) }
        }
    }

    static func setAttributes(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ status: UnsafeMutablePointer<stat>?, _ fields: Int32,
        _ file: UnsafeMutablePointer<fuse_file_info>?
    ) {
        guard let session = unsafe session(request), let status = unsafe status?.pointee else { return }
        let node = Node(number: number)
        var changes = AttributeChanges()
        func isSet(_ field: Int32) -> Bool { fields & field != 0 }
        if isSet(FUSE_SET_ATTR_MODE) { changes.mode = status.st_mode }
        if isSet(FUSE_SET_ATTR_UID) { changes.user = status.st_uid }
        if isSet(FUSE_SET_ATTR_GID) { changes.group = status.st_gid }
        if isSet(FUSE_SET_ATTR_SIZE) { changes.size = Int64(status.st_size) }
        // The kernel sends the actual time also where it says “now”.
        if isSet(FUSE_SET_ATTR_ATIME) || isSet(FUSE_SET_ATTR_ATIME_NOW) {
            changes.accessed = .at(StatusRecord.nanoseconds(status.st_atim))
        }
        if isSet(FUSE_SET_ATTR_MTIME) || isSet(FUSE_SET_ATTR_MTIME_NOW) {
            changes.modified = .at(StatusRecord.nanoseconds(status.st_mtim))
        }
        if isSet(FUSE_SET_ATTR_CTIME) { changes.changed = .at(StatusRecord.nanoseconds(status.st_ctim)) }
        changes.dropPrivileges = session.requestDropsPrivileges
        // The kernel may send times that it has kept (write_inode) beside those of a program.
        unsafe session.perform(HeldRequest(request), about: node, isOrdered: true) { [changes] reply in
            reply.answer({ () throws(FileSystemError) in
                if node.isTrash { return try session.fileSystem.trash.setAttributes(of: node, changes) }
                let attributes = try session.fileSystem.vault(node).setAttributes(of: node.item, changes)
                if let size = changes.size { session.failedWrites.remove(size..<Int64.max, of: node) }
                return attributes
            }) { reply, attributes in
                reply.attributes(attributes, of: node, mayKeep: !session.gate.isClosed)
            }
        }
    }

    /// Whether changes of content set a file's times.
    ///
    /// With the writeback cache, the kernel keeps the times of files: it sets them before each change, cached
    /// or not, and sends them later in a SETATTR. Times set here would differ from those that it shows.
    private static let stampsFiles = false

    static func read(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ size: Int, _ offset: off_t,
        _ file: UnsafeMutablePointer<fuse_file_info>?
    ) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        if session.fileSystem.isPast(node) {
            return unsafe session.readPast(node, at: Int64(offset), count: size, HeldRequest(request))
        }
        if node.infoItem != nil {
            return unsafe session.readInfo(node, at: Int64(offset), count: size, HeldRequest(request))
        }
        if node.isTrash {
            return unsafe session.performInTrash(HeldRequest(request)) { reply in
                reply.answer({ () throws(FileSystemError) in
                    try session.fileSystem.trash.read(node, at: Int64(offset), count: size)
                }) { reply, bytes in unsafe reply.bytes(bytes.span.bytes) }
            }
        }
        let buffer = session.buffer
        var result: Result<Int?, FileSystemError> = .success(nil)
        // A read that would wait for a page is left, like others that wait, to a thread of the vault.
        _ = LeavingWaits.perform {
            do throws(FileSystemError) {
                result = .success(
                    try session.fileSystem.vault(node).contents.read(
                        node.item, at: Int64(offset), count: min(size, buffer.count), into: buffer,
                        in: session.reads
                    ) { unsafe session.deferred.add(HeldRequest(request)) })
            } catch {
                result = .failure(error)
            }
        }
        switch result {
        case .failure(let error):
            unsafe Reply(request)?.failure(error)
            return
        case .success(let count?): unsafe Reply(request)?.bytes(buffer, count)
        case .success(nil): break
        }
        session.noteAccess(node)
    }

    static func write(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ bytes: UnsafePointer<CChar>?, _ size: Int,
        _ offset: off_t, _ file: UnsafeMutablePointer<fuse_file_info>?
    ) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        let drops = session.requestDropsPrivileges
        // SAFETY: libfuse lends `size` bytes until the request is answered.
        let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: size)
        let range = Int64(offset)..<Int64(offset) + Int64(size)
        // Nobody waits for the answer: the program takes the bytes for written.
        let isCached = unsafe file?.pointee.writepage == 1
        if session.fileSystem.isPast(node) {
            session.notePastChange(node, isCached: isCached)
            unsafe Reply(request)?.failure(.readOnly)
            return
        }
        if node.isTrash {
            guard range.upperBound <= TrashInfo.byteCountMax else {
                unsafe Reply(request)?.failure(.fileTooLarge)
                return
            }
            let copy = unsafe [UInt8](buffer)
            return unsafe session.performInTrash(HeldRequest(request)) { reply in
                reply.answer({ () throws(FileSystemError) in
                    try session.fileSystem.trash.write(copy, to: node, at: range.lowerBound)
                }) { reply, _ in reply.written(size) }
            }
        }
        @Sendable func write(_ bytes: RawSpan, _ reply: consuming Reply) {
            reply.answer({ () throws(FileSystemError) in
                do throws(FileSystemError) {
                    try session.fileSystem.vault(node).contents.write(
                        bytes, to: node.item, at: range.lowerBound, touches: stampsFiles,
                        dropsPrivileges: drops)
                    session.failedWrites.remove(range, of: node)
                } catch {
                    if isCached, !error.isLeft { session.failedWrites.add(range, of: node) }
                    throw error
                }
            }) { reply, _ in reply.written(size) }
        }
        let held = unsafe HeldRequest(request)
        let isDone = LeavingWaits.perform {
            if let reply = held.reply { unsafe write(buffer.bytes, reply) }
        }
        if isDone { return }
        let isHeld = unsafe session.waiting.perform(with: buffer.bytes) { bytes in
            if let reply = held.reply { unsafe write(bytes.span.bytes, reply) }
        }
        // With too many bytes in memory, this thread waits.
        if !isHeld, let reply = held.reply { unsafe write(buffer.bytes, reply) }
    }

    /// Takes pages that the kernel was asked for.
    static func retrieved(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ offset: off_t,
        _ buffers: UnsafeMutablePointer<fuse_bufvec>?
    ) {
        defer { unsafe fuse_reply_none(request) }
        guard let session = unsafe session(request), let buffer = unsafe buffers?.pointee.buf else { return }
        // SAFETY: libfuse lends the bytes until this returns.
        let bytes = unsafe UnsafeRawBufferPointer(start: buffer.mem, count: buffer.size)
        let node = Node(number: number)
        session.retrievedPages.add(bytes.count, of: node, at: Int64(offset))
        unsafe session.storeAgain(bytes.bytes, to: node, at: Int64(offset))
    }

    static func sync(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ dataOnly: Int32,
        _ file: UnsafeMutablePointer<fuse_file_info>?
    ) {
        guard let session = unsafe session(request) else { return }
        let fileSystem = session.fileSystem
        let node = Node(number: number)
        // There is nothing to store.
        if fileSystem.isPast(node) || node.isTrash { return unsafe Reply(request)?.code(0) ?? () }
        let vault: Vault?
        do throws(FileSystemError) {
            vault = node.isRoot ? nil : try fileSystem.vault(node)
        } catch {
            unsafe Reply(request)?.failure(error)
            return
        }
        let held = unsafe HeldRequest(request)
        session.syncs.perform(vault, held, severalCallers: session.severalCallers) {
            () throws(FileSystemError) in
            if let vault { try vault.commit() } else { try fileSystem.commitAll() }
        }
    }

    static func space(_ request: fuse_req_t?, _ number: fuse_ino_t) {
        guard let session = unsafe session(request) else { return }
        unsafe Reply(request)?.answer({ () throws(FileSystemError) in try session.fileSystem.space() }) {
            reply, space in reply.space(space, nameMax: Vault.nameByteCountMax)
        }
    }

    static func allocate(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ mode: Int32, _ offset: off_t, _ length: off_t,
        _ file: UnsafeMutablePointer<fuse_file_info>?
    ) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        let keepSize: Int32 = 1
        let punchHole: Int32 = 2
        let zeroRange: Int32 = 16
        let caller = unsafe caller(request)
        unsafe Reply(request)?.confirm { () throws(FileSystemError) in
            if session.fileSystem.isPast(node) {
                session.notePastChange(node, isCached: false)
                throw .readOnly
            }
            let allocation: Contents.Allocation
            switch mode {
            case 0: allocation = .reserve(keepsSize: false)
            case keepSize: allocation = .reserve(keepsSize: true)
            case punchHole | keepSize: allocation = .punchHole
            case zeroRange: allocation = .zero(keepsSize: false)
            case zeroRange | keepSize: allocation = .zero(keepsSize: true)
            default: throw .notSupported
            }
            guard offset >= 0, length > 0 else { throw .invalidArgument }
            let (end, overflows) = Int64(offset).addingReportingOverflow(Int64(length))
            guard !overflows else { throw .fileTooLarge }
            try session.fileSystem.vault(node).contents.allocate(
                allocation, of: node.item, Int64(offset)..<end, touches: stampsFiles, by: caller)
            if mode & (punchHole | zeroRange) != 0 {
                session.failedWrites.remove(Int64(offset)..<end, of: node)
            }
        }
    }

    static func seek(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ offset: off_t, _ whence: Int32,
        _ file: UnsafeMutablePointer<fuse_file_info>?
    ) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        let toData: Int32 = 3
        let toHole: Int32 = 4
        guard whence == toData || whence == toHole else {
            unsafe Reply(request)?.failure(.invalidArgument)
            return
        }
        unsafe session.seek(node, from: Int64(offset), toData: whence == toData, HeldRequest(request))
    }

    static func copyRange(
        _ request: fuse_req_t?, _ source: fuse_ino_t, _ offset: off_t,
        _ sourceFile: UnsafeMutablePointer<fuse_file_info>?, _ target: fuse_ino_t, _ targetOffset: off_t,
        _ targetFile: UnsafeMutablePointer<fuse_file_info>?, _ count: Int, _ flags: Int32
    ) {
        guard let session = unsafe session(request) else { return }
        let (from, to) = (Node(number: source), Node(number: target))
        let caller = unsafe caller(request)
        unsafe Reply(request)?.answer({ () throws(FileSystemError) in
            if session.fileSystem.isPast(to) {
                session.notePastChange(to, isCached: false)
                throw .readOnly
            }
            guard flags == 0 else { throw .invalidArgument }
            guard from.slot == to.slot, !from.isTrash, !to.isTrash else { throw .crossVault }
            let copied = try session.fileSystem.vault(from).contents.copy(
                from.item, at: Int64(offset), to: to.item, at: Int64(targetOffset), count: count,
                touches: stampsFiles, by: caller)
            session.failedWrites.remove(
                Int64(targetOffset)..<Int64(targetOffset) + Int64(copied), of: to)
            return copied
        }) { reply, count in reply.written(count) }
    }
}
