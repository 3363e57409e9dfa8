internal import CofferFormat
internal import CofferStore

/// The unsent changes of an item, as of when they were collected.
struct UnsentItem {
    let row: ItemRow
    /// All attributes that are sent, if one of them has unsent changes.
    let attributes: [(name: [UInt8], value: [UInt8])]
    /// The content, if it must be sent.
    let content: Fact.Content?

    var byteCount: Int { attributes.reduce(content?.bytes.count ?? 0) { $0 + $1.value.count } }
}

extension ItemTree {
    /// Takes the unsent changes of items, as many as fit one commit; later changes belong to the next commit.
    ///
    /// - Parameter contents: The values of files' contents; used for files whose content is still the
    ///   published one.
    mutating func takeUnsent(
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
                // Missing parts of an older content will not be fetched any more.
                try index.removeKept(KeptRow.Key.owed(item.row.id))
                try index.removeKept(KeptRow.Key.places(item.row.id))
            }
            if item.row.unsent.isEmpty { busy[item.row.number] = nil }
        }
        return taken.map(\.unsent)
    }

    private func sentAttributes(
        of number: Int64
    ) throws(FileSystemError) -> [(name: [UInt8], value: [UInt8])] {
        try index.attributes(of: number)
            .filter { ExtendedAttributeName.isSent($0.name) }
    }

    /// Restores changes that were taken from an item and not sent.
    mutating func giveBack(_ unsent: UnsentItem) throws(FileSystemError) {
        guard try row(unsent.row.number) != nil else { return }
        let item = try item(unsent.row.number)
        item.row.unsent.formUnion(unsent.row.unsent)
        touch(item, [])
    }

    /// Records in the index whether an item still has unsent changes.
    mutating func markUnsent(_ number: Int64) throws(FileSystemError) {
        guard let row = try row(number) else {
            return try index.removeUnsent(number)
        }
        let item = try item(number)
        let isUnsent = row.links > 0 && !row.unsent.isDisjoint(with: .sent)
        if isUnsent {
            try index.noteUnsent(number)
        } else {
            try index.removeUnsent(number)
        }
        item.isMarked = isUnsent
        // Nothing more is sent of an item without a name.
        if !isUnsent, !row.unsent.isEmpty {
            item.row.unsent = []
            touch(item, [])
        }
    }
}
