package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Content sealed with keys that the other members lack, because their fork took another side.
extension Repacking {
    /// The number of ranges that are looked at while the lock is held.
    private static let batchCount = 256

    /// Re-encrypts those parts of some files that are sealed with keys of lost sides of forks, and marks
    /// their contents as unsent.
    ///
    /// Content that is only on a remote is fetched. Content that cannot be read stays as it is.
    package func sealAnew(_ items: [ItemID]) throws(FileSystemError) {
        guard vault.keys.hasLost else { return }
        let numbers = try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { vault.facts.close() }
            var numbers: [Int64] = []
            for item in items {
                if let number = try vault.number(of: item) { numbers.append(number) }
            }
            return numbers
        }
        for number in numbers { try sealAnew(number, isFetching: true) }
        try vault.commitIndex()
    }

    /// Does the same for one file whose content is about to be sent.
    ///
    /// - Parameter isFetching: Whether to include content that is only on a remote.
    func sealAnew(_ number: Int64, isFetching: Bool = false) throws(FileSystemError) {
        let keys = vault.keys
        guard keys.hasLost else { return }
        var place: Int64 = -1
        var isChanged = false
        while true {
            let rows = try vault.reading { state throws(FileSystemError) in
                try state.index.extents(after: number, place, limit: Self.batchCount)
            }.filter { $0.item == number }
            for row in rows {
                place = row.offset
                guard keys.mayBeLost(row.epoch), isFetching || row.place != .remote else { continue }
                if try opensForAll(row) { continue }
                if try rewrite([row], marking: .content) { isChanged = true }
            }
            if rows.count < Self.batchCount { break }
        }
        // Its pages may be sealed with such keys, too, even if it was moved and nothing else.
        try vault.changing { state throws(FileSystemError) in
            guard try state.tree.row(number) != nil else { return }
            let pages = try state.index.pages(of: number)
            let hasLostPages = isFetching && pages.contains { keys.mayBeLost($0.reference.epoch) }
            guard isChanged || hasLostPages else { return }
            let item = try state.tree.item(number)
            try state.forgetPages(of: item)
            state.tree.touch(item, hasLostPages ? .content : [])
        }
    }

    /// Whether the first block of a range can be decrypted with a key that all members have.
    private func opensForAll(_ row: ExtentRow) throws(FileSystemError) -> Bool {
        guard vault.keys.isPresent(row.epoch) else { return false }
        let (id, extent) = try vault.reading { state throws(FileSystemError) -> (ItemID, SealedExtent) in
            let id = try state.tree.peek(row.item).origin
            let extent = try vault.contents.extent(row, false, &state)
            return (id, extent)
        }
        let buffer = AlignedBuffer(count: ExtentLayout.blockByteCount)
        do throws(FileSystemError) {
            try vault.contents.fill(
                buffer, at: 0, with: row.offset..<row.offset + 1, of: id, from: [extent], isForAll: true)
            return true
        } catch {
            switch error {
            case .damaged: return false
            // Reading or sending it will report the error.
            default: return true
            }
        }
    }
}
