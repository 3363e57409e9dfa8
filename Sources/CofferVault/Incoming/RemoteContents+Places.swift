internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// What is known of contents of which other places are known whose pages have not arrived.
struct OwedPlaces {
    /// Whether there are any, as far as is known.
    var mayBeThere = true
    /// The time until which none of them is looked for.
    var rest: Int64 = 0
}

// Contents that lie elsewhere at the remote.
extension RemoteContents {
    /// Records where the bytes of a file's content lie now; keeps what is here if the file has another content.
    package func move(
        _ content: Fact.Content, of file: ContentTarget, _ state: inout VaultState
    ) throws(FileSystemError) {
        if try isOwed(file.id, &state) {
            if let old = try state.index.kept(.owed(file.id)) {
                try state.moveLacking(old, to: content.bytes)
            }
            // Its pages are not here yet; perhaps they are in the new place.
            if file.item.row.unsent.isDisjoint(with: .content) {
                return try apply(content, to: file, isSame: true, &state)
            }
            owed.withLock { $0?.rest = 0 }
            return try state.tree.keep([KeptChange(.owed(file.id), content.bytes)])
        }
        if let fetched = Self.fetched(content) ?? prepared.withLock({ $0.contents[content.bytes] }) {
            try Self.setPlaces(of: file.item, to: fetched, in: file.vault, &state)
        } else if Self.value(content) != nil {
            try state.tree.keep([KeptChange(.places(file.id), content.bytes)])
            places.withLock { $0 = OwedPlaces() }
        }
    }

    /// Records where the bytes of a file lie now, unless a program has written to it.
    private static func setPlaces(
        of item: CachedItem, to content: FetchedContent, in vault: Vault, _ state: inout VaultState
    ) throws(FileSystemError) {
        try state.index.removeKept(.places(item.row.id))
        if try state.setPlaces(of: item, to: content) || item.row.unsent.contains(.content) { return }
        vault.problems.add(
            "Another device states that the content of item \(item.row.number) lies elsewhere, but names another "
                + "content. What is here was kept.")
    }

    /// Records places of contents whose pages have arrived.
    func setArrivedPlaces(in vault: Vault) throws(FileSystemError) {
        let known = places.withLock { $0 }
        if !known.mayBeThere || Clock.monotonic < known.rest { return }
        var left = OwedPlaces(mayBeThere: false, rest: Clock.monotonic + pause)
        var last: KeptRow.Key?
        repeat {
            let page = try vault.reading { state throws(FileSystemError) in
                try state.index.keptRows(.places ... .places, after: last, limit: 16)
            }
            for row in page {
                do throws(FileSystemError) {
                    try setPlaces(row, in: vault)
                } catch {
                    left.mayBeThere = true
                    if case .remoteIsSilent = try Self.placement(after: error) {
                        left.rest = Clock.monotonic + 6 * pause
                        return places.withLock { $0 = left }
                    }
                }
            }
            last = page.last?.key
        } while last != nil
        places.withLock { $0 = left }
    }

    private func setPlaces(_ row: KeptRow, in vault: Vault) throws(FileSystemError) {
        guard let item = ItemID(bytes: row.key.id), let number = try vault.number(of: item),
            let value = unsafe try? ContentValue(row.value.span.bytes)
        else {
            return try vault.changing { state throws(FileSystemError) in try state.index.removeKept(row.key) }
        }
        let fetched = try vault.contents.fetchExtents(of: value, for: number)
        try vault.changing { state throws(FileSystemError) in
            guard try state.tree.row(number) != nil else { return try state.index.removeKept(row.key) }
            try Self.setPlaces(of: try state.tree.item(number), to: fetched, in: vault, &state)
        }
    }
}
