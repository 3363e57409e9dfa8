internal import CofferFormat
internal import CofferSystem
internal import CofferVault

// Requests about the trash at the top of the mount, each of which may take several steps in a vault.
extension Session {
    /// Performs a request on the thread of the trash.
    func performInTrash(_ request: HeldRequest, _ body: @escaping @Sendable (consuming Reply) -> Void) {
        let perform: @Sendable () -> Void = { if let reply = request.reply { body(reply) } }
        if !trashThread.enqueue(perform) { perform() }
    }

    /// Answers a lookup in one of the trash's directories.
    ///
    /// The kernel does not keep the answer, since the vault's own trash has other names for the same items.
    func lookUpInTrash(_ name: [UInt8], in parent: Node, _ request: HeldRequest) {
        performInTrash(request) { [self] reply in
            reply.answer({ () throws(FileSystemError) in
                try fileSystem.trash.lookup(name, in: parent)
            }) { reply, found in
                let generation = fileSystem.trash.generation(of: found.0, found.1)
                reply.entry(found.1, of: found.0, lookups, nameTimeout: 0, generation: generation)
            }
        }
    }

    /// Answers a read of an info file that a vault keeps.
    func readInfo(_ node: Node, at offset: Int64, count: Int, _ request: HeldRequest) {
        let read = deferred.add(request)
        pastReads.perform { [self] in
            if read.isInterrupted { return read.fail(.stale) }
            let bytes: [UInt8]
            do throws(FileSystemError) {
                bytes = try fileSystem.trash.read(node, at: offset, count: count)
            } catch {
                return read.fail(error)
            }
            let buffer = AlignedBuffer(count: max(1, bytes.count))
            unsafe buffer.copy(bytes.span.bytes, to: 0)
            read.answer([ReadPart(buffer: buffer, range: 0..<bytes.count)])
        }
    }
}
