internal import CFuse3
internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc

// Requests that find, make, move and remove names.
extension Operations {
    static func lookup(_ request: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?) {
        guard let session = unsafe session(request) else { return }
        let name = unsafe self.name(name)
        let parent = Node(number: parent)
        if session.fileSystem.isPast(parent) {
            return unsafe session.lookUpPast(name, in: parent, HeldRequest(request))
        }
        if parent.isTrash { return unsafe session.lookUpInTrash(name, in: parent, HeldRequest(request)) }
        unsafe session.perform(HeldRequest(request)) { reply in
            let found: (node: Node, attributes: Attributes)
            do throws(FileSystemError) {
                found = try session.fileSystem.lookup(name, in: parent)
            } catch {
                guard case .notFound = error, !session.fileSystem.mayAppear(name, in: parent) else {
                    return reply.failure(error)
                }
                return reply.noEntry()
            }
            reply.entry(found.attributes, of: found.node, session.lookups)
        }
    }

    static func forget(_ request: fuse_req_t?, _ node: fuse_ino_t, _ count: UInt64) {
        unsafe session(request)?.forget(Node(number: node), count)
        unsafe fuse_reply_none(request)
    }

    static func forgetMany(
        _ request: fuse_req_t?, _ count: Int, _ forgets: UnsafeMutablePointer<fuse_forget_data>?
    ) {
        if let session = unsafe session(request), let forgets = unsafe forgets {
            for index in 0..<count {
                let forget = unsafe forgets[index]
                session.forget(Node(number: forget.ino), forget.nlookup)
            }
        }
        unsafe fuse_reply_none(request)
    }

    private static func make(
        _ request: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ item: Vault.NewItem
    ) {
        guard let session = unsafe session(request) else { return }
        let (name, caller) = unsafe (self.name(name), caller(request))
        let parent = Node(number: parent)
        unsafe session.changeNames(in: parent, HeldRequest(request)) { reply in
            reply.answer({ () throws(FileSystemError) in
                try session.fileSystem.create(item, named: name, in: parent, by: caller)
            }) { reply, made in reply.entry(made.1, of: made.0, session.lookups) }
        }
    }

    static func makeNode(
        _ request: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ mode: mode_t,
        _ device: dev_t
    ) {
        unsafe make(request, parent, name, Vault.NewItem(mode: mode, device: UInt64(device)))
    }

    static func makeDirectory(
        _ request: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ mode: mode_t
    ) {
        let mode = FileType.directory.modeBits | mode & ModeBits.permissions
        unsafe make(request, parent, name, Vault.NewItem(mode: mode))
    }

    static func makeSymbolicLink(
        _ request: fuse_req_t?, _ target: UnsafePointer<CChar>?, _ parent: fuse_ino_t,
        _ name: UnsafePointer<CChar>?
    ) {
        let mode = FileType.symbolicLink.modeBits | 0o777
        unsafe make(request, parent, name, Vault.NewItem(mode: mode, target: self.name(target)))
    }

    static func create(
        _ request: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ mode: mode_t,
        _ file: UnsafeMutablePointer<fuse_file_info>?
    ) {
        guard let session = unsafe session(request) else { return }
        let (name, caller) = unsafe (self.name(name), caller(request))
        let item = Vault.NewItem(mode: FileType.regular.modeBits | mode & ModeBits.permissions)
        let isExclusive = unsafe file.map { unsafe $0.pointee.flags & O_EXCL != 0 } ?? true
        let parent = Node(number: parent)
        // libfuse's own copy is valid only until this function returns.
        let file = unsafe file?.pointee
        unsafe session.changeNames(in: parent, HeldRequest(request)) { reply in
            reply.answer({ () throws(FileSystemError) in
                do throws(FileSystemError) {
                    return try session.fileSystem.create(item, named: name, in: parent, by: caller)
                } catch {
                    // The name is new to the kernel: on ESTALE, it looks the name up again and opens the
                    // existing file.
                    if case .alreadyExists = error, !isExclusive { throw .stale }
                    throw error
                }
            }) { reply, made in reply.created(made.1, of: made.0, session.lookups, file ?? fuse_file_info()) }
        }
    }

    static func link(
        _ request: fuse_req_t?, _ node: fuse_ino_t, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?
    ) {
        guard let session = unsafe session(request) else { return }
        let name = unsafe self.name(name)
        let (node, parent) = (Node(number: node), Node(number: parent))
        unsafe session.changeNames(in: parent, HeldRequest(request)) { reply in
            reply.answer({ () throws(FileSystemError) in
                try session.fileSystem.link(node, as: name, in: parent)
            }) { reply, attributes in reply.entry(attributes, of: node, session.lookups) }
        }
    }

    static func unlink(_ request: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?) {
        guard let session = unsafe session(request) else { return }
        let name = unsafe self.name(name)
        let parent = Node(number: parent)
        unsafe session.changeNames(in: parent, HeldRequest(request)) { reply in
            reply.confirm { () throws(FileSystemError) in
                let nameless = try session.fileSystem.unlink(name, in: parent)
                session.noteMove([], nameless, in: parent)
            }
        }
    }

    static func removeDirectory(_ request: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?) {
        guard let session = unsafe session(request) else { return }
        let name = unsafe self.name(name)
        let parent = Node(number: parent)
        unsafe session.changeNames(in: parent, HeldRequest(request)) { reply in
            reply.confirm { () throws(FileSystemError) in
                try session.fileSystem.removeDirectory(name, in: parent)
            }
        }
    }

    private static let noReplace: UInt32 = 1
    private static let exchange: UInt32 = 2

    static func rename(
        _ request: fuse_req_t?, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?, _ newParent: fuse_ino_t,
        _ newName: UnsafePointer<CChar>?, _ flags: UInt32
    ) {
        guard let session = unsafe session(request) else { return }
        let (name, newName) = unsafe (self.name(name), self.name(newName))
        let (parent, newParent) = (Node(number: parent), Node(number: newParent))
        unsafe session.changeNames(in: newParent.isTrash ? newParent : parent, HeldRequest(request)) {
            reply in
            reply.confirm { () throws(FileSystemError) in
                let mode: Vault.RenameMode
                switch flags {
                case 0: mode = .replace
                case noReplace: mode = .keep
                case exchange: mode = .exchange
                default: throw .invalidArgument
                }
                let nameless = try session.fileSystem.rename(
                    name, in: parent, to: newName, in: newParent, mode)
                if parent.isTrash || newParent.isTrash { return }
                session.noteMove(
                    [Vault.Name(name, in: parent.item), Vault.Name(newName, in: newParent.item)], nameless,
                    in: parent)
            }
        }
    }

    static func readLink(_ request: fuse_req_t?, _ node: fuse_ino_t) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: node)
        unsafe session.perform(HeldRequest(request)) { reply in
            reply.answer({ () throws(FileSystemError) in
                try session.fileSystem.readLink(node)
            }) { reply, target in reply.link(target) }
        }
    }

    /// The number of entries that one lookup in the index returns.
    private static let batchCount = 128

    static func readDirectory(
        _ request: fuse_req_t?, _ number: fuse_ino_t, _ size: Int, _ offset: off_t, plus: Bool
    ) {
        guard let session = unsafe session(request) else { return }
        let node = Node(number: number)
        let held = unsafe HeldRequest(request)
        if session.fileSystem.isPast(node) {
            return session.pastRequests.perform {
                if let reply = held.reply { list(node, size, Int64(offset), plus: plus, session, reply) }
            }
        }
        session.perform(held, about: node) { reply in
            list(node, size, Int64(offset), plus: plus, session, reply)
        }
    }

    private static func list(
        _ node: Node, _ size: Int, _ offset: Int64, plus: Bool, _ session: Session, _ reply: consuming Reply
    ) {
        var listing = DirectoryListing(byteCount: size)
        do throws(FileSystemError) {
            var cookie = offset
            let end = try session.endOfListing(of: node, from: offset)
            reading: while true {
                let batch = try session.fileSystem.readDirectory(
                    node, after: cookie, limit: batchCount, attributes: plus)
                for (entry, child) in batch {
                    if entry.cookie >= end { break reading }
                    if try session.fileSystem.isHidden(entry.name, in: node) {
                        cookie = entry.cookie
                        continue
                    }
                    let added = unsafe reply.withRequest {
                        unsafe listing.add(entry, child, plus: plus, to: $0)
                    }
                    if !added { break reading }
                    if plus, entry.attributes != nil { session.lookups.add(child) }
                    cookie = entry.cookie
                }
                if batch.count < batchCount { break }
            }
        } catch {
            if listing.isEmpty { return reply.failure(error) }
        }
        session.noteAccess(node)
        reply.listing(listing)
    }
}

extension Session {
    /// The first cookie that a listing must not reach; a listing begins at offset 0.
    fileprivate func endOfListing(of node: Node, from offset: Int64) throws(FileSystemError) -> Int64 {
        // Nothing is added to the past, but to the list of states.
        if fileSystem.isPast(node) { return .max }
        guard offset == 0 else { return listingEnds.withLock { $0.end(of: node) } ?? .max }
        let end = try fileSystem.nextCookie(in: node)
        listingEnds.withLock { $0.begin(node, endingBefore: end) }
        return end
    }
}
