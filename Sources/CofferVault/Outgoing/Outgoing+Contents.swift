package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Which parts of a vault's content are on a remote.
extension Outgoing {
    /// The number of extents that are recorded while the lock is held.
    private static let noteCount = 64

    /// Commits everything to disk, and begins to send contents as of that commit.
    ///
    /// - Parameter deliver: Starts the upload of a pack; several uploads run at a time.
    package func beginSending(
        beginning deliver: @escaping Sending.Deliver
    ) throws(FileSystemError) -> Sending {
        try vault.commitIndex()
        let reader = try vault.state.withLock { state throws(FileSystemError) in
            try state.index.makeContentReader()
        }
        return Sending(vault, reader, deliver: deliver)
    }

    /// Whether the item still refers to an extent at the same place.
    func refers(to row: ExtentRow) throws(FileSystemError) -> Bool {
        try vault.reading { state throws(FileSystemError) in
            try state.rows(ofExtent: row).contains { $0.place == row.place }
        }
    }

    /// Records extents that were sent to the remote, as far as ranges still refer to them.
    func record(_ sent: [SentExtent]) throws(FileSystemError) {
        var rest = sent[...]
        defer { vault.cache.noteSent(sent.reduce(0) { $0 + $1.row.total }) }
        while !rest.isEmpty {
            let batch = rest.prefix(Self.noteCount)
            rest = rest.dropFirst(Self.noteCount)
            try vault.changing { state throws(FileSystemError) in
                for extent in batch {
                    let rows = try state.rows(ofExtent: extent.row).filter { $0.remote == 0 }
                    if rows.isEmpty { continue }
                    let remote = try state.index.insertRemoteExtent(
                        extent.place, live: rows.reduce(0) { $0 + $1.length })
                    for row in rows {
                        var known = row
                        known.remote = remote
                        try state.index.remove(row)
                        try state.index.insert(known)
                    }
                }
            }
        }
    }

    /// Records pages that were sent to the remote, and removes those that they replace.
    func record(
        new: [RemotePageRow], left: [RemotePageRow], of number: Int64
    ) throws(FileSystemError) {
        var (left, new) = (left[...], new[...])
        while !left.isEmpty || !new.isEmpty {
            let (old, fresh) = (left.prefix(Self.noteCount), new.prefix(Self.noteCount))
            left = left.dropFirst(Self.noteCount)
            new = new.dropFirst(Self.noteCount)
            try vault.changing { state throws(FileSystemError) in
                guard try state.tree.row(number) != nil else { return }
                try state.replacePages(of: try state.tree.item(number), new: fresh, left: old)
            }
        }
    }
}

extension VaultState {
    /// Records pages; removes those that they replace, and `left`, if it is still recorded.
    mutating func replacePages(
        of item: CachedItem, new: ArraySlice<RemotePageRow>, left: ArraySlice<RemotePageRow>
    ) throws(FileSystemError) {
        let number = item.row.number
        for row in left where try index.page(row.node, of: number) == row {
            try index.remove(row)
        }
        for row in new {
            if let old = try index.page(row.node, of: number) { try index.remove(old) }
            try index.insert(row)
        }
        if new.isEmpty { return }
        item.row.flags.insert(.hasPages)
        tree.touch(item, [])
    }

    /// Removes the records of all pages of an item.
    mutating func forgetPages(of item: CachedItem) throws(FileSystemError) {
        for row in try index.pages(of: item.row.number) { try index.remove(row) }
        item.row.flags.remove(.hasPages)
    }

    /// All ranges of the item that belong to the same extent.
    mutating func rows(ofExtent row: ExtentRow) throws(FileSystemError) -> [ExtentRow] {
        try index.extents(of: row.item, overlapping: row.base..<row.base + row.total).filter {
            $0.isOfSameExtent(as: row)
        }
    }
}
