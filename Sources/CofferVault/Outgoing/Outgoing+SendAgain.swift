package import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Contents that are here, in packs that the remote has lost.
extension Outgoing {
    /// Marks contents as unsent that the remote has lost with some packs, so that they are sent again.
    ///
    /// Only for files whose content is by this device, or is to be sent by it anyway: if two devices sent the
    /// same content again, others would get a conflict copy. Programs see no change, and times stay as they
    /// are. Takes the lock only briefly; uses the disk like re-encryption.
    ///
    /// - Parameters:
    ///   - packs: What the remote has lost.
    ///   - log: The log of this device.
    ///   - byteCountMax: About how many bytes count as unsent afterwards.
    /// - Throws: `.noSpace`, `.readOnly`.
    package func sendAgain(
        from packs: Set<PackID>, writtenIn log: LogID, byteCountMax: Int
    ) throws(FileSystemError) -> ContentsPutAgain {
        if vault.isReadOnly { throw .readOnly }
        try vault.commitIndex()
        var result = ContentsPutAgain()
        for (number, offsets) in try references(to: packs).sorted(by: { $0.key < $1.key }) {
            if vault.upkeep.isStopped { break }
            guard try isFromHere(number, log) else { continue }
            for offset in offsets {
                guard let row = try row(of: number, at: offset, in: packs) else { continue }
                if row.place == .remote {
                    result.lostByteCount += Int(row.length)
                } else if result.byteCount >= byteCountMax {
                    result.isPart = true
                } else if try vault.repacking.rewrite([row], marking: .content) {
                    result.byteCount += Int(row.length)
                }
            }
            result.byteCount += try sendPagesAgain(of: number, in: packs)
        }
        try vault.commitIndex()
        return result
    }

    /// Items with ranges, or pages, in some packs, and where the ranges begin.
    private func references(to packs: Set<PackID>) throws(FileSystemError) -> [Int64: [Int64]] {
        let reader = try vault.state.withLock { state throws(FileSystemError) in try state.index.makeReader()
        }
        var references: [Int64: [Int64]] = [:]
        for (item, offset) in try reader.extents(in: packs) {
            references[item, default: []].append(offset)
        }
        for item in try reader.itemsWithPages(in: packs) { references[item, default: []] += [] }
        return references
    }

    /// Whether the content of a file is by this device, or is to be sent by it.
    private func isFromHere(_ number: Int64, _ log: LogID) throws(FileSystemError) -> Bool {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { vault.facts.close() }
            return try vault.reading { state throws(FileSystemError) in
                guard state.tree.isTracking, let row = try state.tree.row(number),
                    !row.flags.contains(.isVersion)
                else { return false }
                if row.unsent.contains(.content) { return true }
                let facts = try state.openFacts()
                return try facts.values(.content(row.id)).contents.last?.stamp.dot.log == log
            }
        }
    }

    /// A range of a file, if it still begins there, and is in one of some packs at the remote.
    private func row(
        of number: Int64, at offset: Int64, in packs: Set<PackID>
    ) throws(FileSystemError) -> ExtentRow? {
        try vault.reading { state throws(FileSystemError) in
            let rows = try state.index.extents(of: number, overlapping: offset..<offset + 1)
            guard let row = rows.first(where: { $0.offset == offset }), row.remote != 0 else {
                return nil
            }
            return packs.contains(try state.index.remoteExtent(row.remote).place.pack) ? row : nil
        }
    }

    /// Has the pages of a content made and sent anew, if some of them are in packs that are lost.
    ///
    /// - Returns: About how many bytes that is.
    private func sendPagesAgain(of number: Int64, in packs: Set<PackID>) throws(FileSystemError) -> Int {
        try vault.changing { state throws(FileSystemError) in
            guard try state.tree.row(number) != nil else { return 0 }
            let pages = try state.index.pages(of: number)
            guard pages.contains(where: { packs.contains($0.reference.place.pack) }) else { return 0 }
            let item = try state.tree.item(number)
            try state.forgetPages(of: item)
            state.tree.touch(item, .content)
            return pages.reduce(0) { $0 + Int($1.reference.length) }
        }
    }
}
