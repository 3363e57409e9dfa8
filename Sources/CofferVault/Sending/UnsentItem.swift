internal import CofferFormat
internal import CofferStore

/// What no commit has of an item, as it was when it was collected.
struct UnsentItem {
    let row: ItemRow
    /// If something of them is to be sent: all that are.
    let attributes: [(name: [UInt8], value: [UInt8])]
    /// If it is to be sent.
    let content: Fact.Content?

    var byteCount: Int { attributes.reduce(content?.bytes.count ?? 0) { $0 + $1.value.count } }
}

extension VaultState {
    /// Takes from items what is unsent of them, as much as goes into one commit: what changes from now on is for the
    /// next one.
    ///
    /// - Parameter contents: What the contents of files are, as far as they are still what is published.
    func takeUnsent(
        _ numbers: [Int64], _ contents: [Int64: Fact.Content]
    ) throws(FileSystemError) -> [UnsentItem] {
        var taken: [(item: CachedItem, unsent: UnsentItem)] = []
        var byteCount = 0
        for number in numbers where byteCount < CollectedChanges.byteCountMax {
            guard let row = try row(number), row.links > 0 else { continue }
            let isPublished = row.unsent.contains(.content) && publishing.contains(number)
            let unsent = UnsentItem(
                row: row, attributes: row.unsent.contains(.attributes) ? try sentAttributes(of: number) : [],
                content: isPublished ? contents[number] : nil)
            byteCount += unsent.byteCount
            taken.append((try item(number), unsent))
        }
        for (item, unsent) in taken {
            let waits = unsent.content == nil && item.type == .regular
            item.row.unsent = waits ? item.row.unsent.intersection(.content) : []
            touch(item, [])
            if unsent.content != nil {
                // Whatever it lacked of an older content is not to come any more.
                try storing { () throws(StoreError) in
                    try index.removeKept(RemoteContents.key(of: item.row.id))
                }
            }
            if item.row.unsent.isEmpty { busy[item.row.number] = nil }
        }
        return taken.map(\.unsent)
    }

    private func sentAttributes(
        of number: Int64
    ) throws(FileSystemError) -> [(name: [UInt8], value: [UInt8])] {
        try storing { () throws(StoreError) in try index.attributes(of: number) }
            .filter { ExtendedAttributeName.isSent($0.name) }
    }

    /// Gives back what was taken from an item and not sent.
    func giveBack(_ unsent: UnsentItem) throws(FileSystemError) {
        guard try row(unsent.row.number) != nil else { return }
        let item = try item(unsent.row.number)
        item.row.unsent.formUnion(unsent.row.unsent)
        touch(item, [])
    }

    /// Notes in the index whether an item has still something to be sent.
    func markUnsent(_ number: Int64) throws(FileSystemError) {
        guard let row = try row(number) else {
            return try storing { () throws(StoreError) in try index.removeUnsent(number) }
        }
        let item = try item(number)
        let isUnsent = row.links > 0 && !row.unsent.isDisjoint(with: .sent)
        try storing { () throws(StoreError) in
            if isUnsent {
                try index.noteUnsent(number)
            } else {
                try index.removeUnsent(number)
            }
        }
        item.isMarked = isUnsent
        // Without a name nothing of it is sent any more.
        if !isUnsent, !row.unsent.isEmpty {
            item.row.unsent = []
            touch(item, [])
        }
    }
}
