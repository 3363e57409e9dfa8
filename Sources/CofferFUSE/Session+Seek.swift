internal import CofferVault

// Looking for data and holes in files of which the kernel has pages that it has not written yet.
extension Session {
    /// How often a hole is looked at again that was filled meanwhile.
    private static let seekTriesMax = 16

    /// Answers where data or a hole begins at or behind an offset.
    ///
    /// The kernel asks without writing what programs wrote to its cache before, so that what looks like a hole may be
    /// data. It is made to write that first, by a thread that may wait for it: this one has to take it in.
    func seek(_ node: Node, from offset: Int64, toData: Bool, _ request: HeldRequest) {
        // What is stored as data is data, whatever the cache has.
        if toData, (try? place(in: node, from: offset, toData: true)) == offset {
            request.reply?.position(offset)
            return
        }
        let isTaken = seekThread.take { [self] in
            request.reply?.answer({ () throws(FileSystemError) in
                try placeInCache(of: node, from: offset, toData: toData)
            }) { reply, position in reply.position(position) }
        }
        if isTaken { return }
        request.reply?.answer({ () throws(FileSystemError) in
            try fileSystem.vault(node).seek(node.item, from: offset, toData: toData)
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

    /// Nil behind the end, or where there is no more data.
    private func place(in node: Node, from offset: Int64, toData: Bool) throws(FileSystemError)
        -> Int64?
    {
        do throws(FileSystemError) {
            return try fileSystem.vault(node).seek(node.item, from: offset, toData: toData)
        } catch {
            if case .beyondEnd = error { return nil }
            throw error
        }
    }
}
