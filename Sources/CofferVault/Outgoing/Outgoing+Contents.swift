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

    /// Whether the item still refers to all of some ranges of an extent at the same place.
    func refers(to ranges: [ExtentRow]) throws(FileSystemError) -> Bool {
        guard let first = ranges.first else { return false }
        let rows = try vault.reading { state throws(FileSystemError) in try state.rows(ofExtent: first) }
        let live = RangeSet(rows.filter { $0.place == first.place }.map { $0.offset..<$0.end })
        return live.isSuperset(of: RangeSet(ranges.map { $0.offset..<$0.end }))
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
                    var rows = try state.rows(ofExtent: extent.row).filter { $0.remote == 0 }
                    if rows.isEmpty { continue }
                    // Versions may have what the file has lost.
                    if rows.reduce(0, { $0 + $1.length }) < rows[0].total {
                        rows += try state.keptRows(ofExtent: rows[0]).filter { $0.remote == 0 }
                    }
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
