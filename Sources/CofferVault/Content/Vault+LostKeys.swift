package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Content that is sealed with keys which the other members do not have, as their fork took another side.
extension Vault {
    /// Ranges that are looked at while the lock is held.
    private static let batchCount = 256

    /// Seals anew what of some files is sealed with keys of lost sides of forks, and counts their content as unsent.
    ///
    /// What is on a remote only is fetched. What cannot be read stays as it is.
    package func sealAnew(_ items: [ItemID]) throws(FileSystemError) {
        guard keys.hasLost else { return }
        let numbers = try exchanging.withLock { _ throws(FileSystemError) in
            defer { closeFacts() }
            var numbers: [Int64] = []
            for item in items {
                if let number = try number(of: item) { numbers.append(number) }
            }
            return numbers
        }
        for number in numbers { try sealAnew(number, isFetching: true) }
        try commitIndex()
    }

    /// The same for one file, whose content is about to be sent.
    ///
    /// - Parameter isFetching: Whether also what is on a remote only is looked at.
    func sealAnew(_ number: Int64, isFetching: Bool = false) throws(FileSystemError) {
        let keys = keys
        guard keys.hasLost else { return }
        var place: Int64 = -1
        var isChanged = false
        while true {
            let rows = try reading { state throws(FileSystemError) in
                try storing { () throws(StoreError) in
                    try state.index.extents(after: number, place, limit: Self.batchCount)
                }
            }.filter { $0.item == number }
            for row in rows {
                place = row.offset
                guard keys.mayBeLost(row.epoch), isFetching || row.place != .remote else { continue }
                if try opensForAll(row) { continue }
                if try rewrite([row], marking: .content) { isChanged = true }
            }
            if rows.count < Self.batchCount { break }
        }
        guard isChanged else { return }
        // Its pages may be sealed in the same way.
        try changing { state throws(FileSystemError) in
            guard try state.row(number) != nil else { return }
            let item = try state.item(number)
            try self.forgetPages(of: item, state)
            state.touch(item, [])
        }
    }

    /// Whether the first block of a range opens with a key that all members have.
    private func opensForAll(_ row: ExtentRow) throws(FileSystemError) -> Bool {
        guard keys.isPresent(row.epoch) else { return false }
        let (id, extent) = try reading { state throws(FileSystemError) -> (ItemID, SealedExtent) in
            let id = try state.peek(row.item).origin
            let extent = try storing { () throws(StoreError) in try self.extent(row, false, state) }
            return (id, extent)
        }
        let buffer = AlignedBuffer(count: ExtentLayout.blockByteCount)
        do throws(FileSystemError) {
            try fill(
                buffer, at: 0, with: row.offset..<row.offset + 1, of: id, from: [extent], isForAll: true)
            return true
        } catch {
            switch error {
            case .damaged: return false
            // It is told when it is read or sent.
            default: return true
            }
        }
    }
}
