internal import CofferFormat
internal import CofferVault

// Seeks data and holes in files of which the kernel has unwritten pages.
extension Session {
    /// How often the search is repeated because a hole was filled in the meantime.
    private static let seekTriesMax = 16

    /// Answers the offset of the first data or hole at or after an offset.
    ///
    /// The kernel asks without first writing its cached pages, so an apparent hole may be data. A separate
    /// thread makes the kernel write those pages; the serving thread cannot wait for that, because it has to
    /// receive them.
    func seek(_ node: Node, from offset: Int64, toData: Bool, _ request: HeldRequest) {
        if fileSystem.isPast(node) {
            return perform(request) { [self] reply in
                reply.answer({ () throws(FileSystemError) in
                    try fileSystem.past.seek(node, from: offset, toData: toData)
                }) { reply, position in reply.position(position) }
            }
        }
        if node.isTrash {
            return performInTrash(request) { [self] reply in
                reply.answer({ () throws(FileSystemError) in
                    try fileSystem.trash.seek(node, from: offset, toData: toData)
                }) { reply, position in reply.position(position) }
            }
        }
        // Stored data is data, whatever the kernel has cached.
        if toData, (try? place(in: node, from: offset, toData: true)) == offset {
            request.reply?.position(offset)
            return
        }
        let isTaken = seekThread.enqueue { [self] in
            request.reply?.answer({ () throws(FileSystemError) in
                try placeInCache(of: node, from: offset, toData: toData)
            }) { reply, position in reply.position(position) }
        }
        if isTaken { return }
        request.reply?.answer({ () throws(FileSystemError) in
            try fileSystem.vault(node).contents.seek(node.item, from: offset, toData: toData)
        }) { reply, position in reply.position(position) }
    }

    private func placeInCache(
        of node: Node, from offset: Int64, toData: Bool
    ) throws(FileSystemError) -> Int64 {
        var found = try place(in: node, from: offset, toData: toData)
        for _ in 0..<Self.seekTriesMax {
            let start = toData ? offset : found ?? offset
            let end = toData ? found : try place(in: node, from: start, toData: true)
            if start == end { break }
            notifier.flush(node, start..<(end ?? .max))
            let again = try place(in: node, from: offset, toData: toData)
            if again == found { break }
            found = again
        }
        guard let found else { throw .beyondEnd }
        return found
    }

    /// Nil at or after the end, or where no more data follows.
    private func place(in node: Node, from offset: Int64, toData: Bool) throws(FileSystemError)
        -> Int64?
    {
        do throws(FileSystemError) {
            return try fileSystem.vault(node).contents.seek(node.item, from: offset, toData: toData)
        } catch {
            if case .beyondEnd = error { return nil }
            throw error
        }
    }
}
