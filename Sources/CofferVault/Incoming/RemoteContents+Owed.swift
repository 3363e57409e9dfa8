internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Contents whose extents were not known when they were applied.
extension RemoteContents {
    /// Whether a row says that an item lacks its content.
    func isOwed(_ item: ItemID, _ state: inout VaultState) throws(FileSystemError) -> Bool {
        let key = KeptRow.Key.owed(item)
        if let isOwed = owed.withLock({ $0?.rows.contains(key) }) { return isOwed }
        var found = Owed()
        for kind in Owed.kinds {
            var last: KeptRow.Key?
            repeat {
                let page = try state.index.keptRows(kind...kind, after: last, limit: 16)
                for row in page { found.insert(row.key, isNewer: ContentValue.isNewer(row.value)) }
                last = page.last?.key
            } while last != nil
        }
        let all = found
        owed.withLock { $0 = all }
        return all.rows.contains(key)
    }

    /// Whether a content may be waiting to be put in place.
    package var mayOwe: Bool {
        places.withLock { $0.mayBeThere } || mayLack
    }

    /// Makes the next call look at once for contents that are owed: the remote answers again.
    package func noteRemoteAnswers() {
        owed.withLock { owed in
            owed?.rest = 0
            owed?.answers &+= 1
        }
    }

    /// Whether a content that this device lacks may be waiting.
    private var mayLack: Bool { owed.withLock { $0?.mayArrive ?? true } }

    /// Puts in place what has arrived of all that is owed.
    package func placeArrived(in vault: Vault) throws(FileSystemError) {
        try setArrivedPlaces(in: vault)
        let known = owed.withLock { $0 }
        if !mayLack { return }
        if let known, Clock.monotonic < known.rest { return }
        var left = Owed(rest: Clock.monotonic + pause)
        for kind in Owed.kinds {
            guard try placeArrived(kind, known, &left, in: vault) else {
                // Later calls must not wait for the remote each time.
                return owed.withLock { owed in
                    guard owed?.answers == known?.answers else { return }
                    owed?.rest = Clock.monotonic + 6 * pause
                }
            }
        }
        try vault.commitIndex()
        let found = left
        owed.withLock { owed in
            let answers = owed?.answers ?? 0
            let isNews = answers != known?.answers ?? 0
            owed = found
            owed?.answers = answers
            if isNews { owed?.rest = 0 }
        }
    }

    /// Puts contents in place that rows of a kind say are owed, as far as they have arrived.
    ///
    /// - Parameter left: Receives the others.
    /// - Returns: False if the remote does not answer.
    private func placeArrived(
        _ kind: KeptRow.Kind, _ known: Owed?, _ left: inout Owed, in vault: Vault
    ) throws(FileSystemError) -> Bool {
        var last: KeptRow.Key?
        while true {
            let page = try vault.reading { state throws(FileSystemError) in
                try state.index.keptRows(kind...kind, after: last, limit: 16)
            }
            for row in page {
                guard try number(of: row, in: vault) != nil else {
                    try finish(row, nil, in: vault)
                    continue
                }
                if ContentValue.isNewer(row.value) {
                    left.insert(row.key, isNewer: true)
                    continue
                }
                var look: Look?
                if let before = known?.damaged[row.key] {
                    look = Self.look(at: row, in: vault)
                    if look == before {
                        left.insert(row.key, isNewer: false)
                        left.damaged[row.key] = before
                        continue
                    }
                }
                switch try placeArrived(row, in: vault) {
                // A version that went meanwhile may have given what it lacked to one that was looked at before.
                case .done: left.mayHaveMore = left.mayHaveMore || kind == .lacking
                // A content that has not arrived, or is damaged, does not hold up others.
                case .hasNotArrived: left.insert(row.key, isNewer: false)
                case .isDamaged(let place):
                    try noteDamage(at: place, of: row, in: vault)
                    left.insert(row.key, isNewer: false)
                    left.damaged[row.key] = look ?? .unseen
                case .remoteIsSilent: return false
                }
            }
            guard let end = page.last else { return true }
            last = end.key
        }
    }

    /// The result of putting a content in place.
    enum Placement {
        case done, hasNotArrived, remoteIsSilent
        case isDamaged(place: String)
    }

    /// What is visible of a content on the remote without fetching it; nil if the remote does not answer.
    private static func look(at row: KeptRow, in vault: Vault) -> Look? {
        guard let value = unsafe try? ContentValue(row.value.span.bytes),
            case .tree(let root, _) = value.extents
        else { return nil }
        let number = vault.remoteReads.arrivals.looks
        do throws(FileSystemError) {
            let byteCount = try vault.remoteReads.byteCount(of: root.reference.place.pack)
            return Look(number: number, byteCount: byteCount)
        } catch {
            if case .notArrived = error { return Look(number: number, byteCount: 0) }
            return nil
        }
    }

    /// Reports a damaged content of a file; of what only the history has, `coffer check` tells.
    private func noteDamage(at place: String, of row: KeptRow, in vault: Vault) throws(FileSystemError) {
        guard let number = try number(of: row, in: vault) else { return }
        if row.key.kind == .owed {
            vault.problems.add(
                "\(vault.path(of: number)) cannot be read: \(place) is damaged",
                about: .pages(vault.id, number))
        }
        vault.remoteReads.arrivals.notePages(of: number, areDamaged: true)
    }

    /// The number of the file or version that lacks a content; nil if it is gone.
    private func number(of row: KeptRow, in vault: Vault) throws(FileSystemError) -> Int64? {
        guard row.key.kind == .lacking else {
            return try ItemID(bytes: row.key.id).flatMap { id throws(FileSystemError) in
                try vault.number(of: id)
            }
        }
        let number = Int64(clamping: row.key.number)
        return try vault.reading { state throws(FileSystemError) in try state.tree.row(number)?.number }
    }

    /// Puts a content in place.
    private func placeArrived(_ row: KeptRow, in vault: Vault) throws(FileSystemError) -> Placement {
        guard let number = try number(of: row, in: vault),
            let value = unsafe try? ContentValue(row.value.span.bytes)
        else {
            try finish(row, nil, in: vault)
            return .done
        }
        let isFile = row.key.kind == .owed
        // If all of it was rewritten on this device, the local content wins.
        guard try isFile ? vault.contents.lacksContent(number) : vault.contents.hasGaps(number) else {
            try finish(row, number, in: vault)
            return .done
        }
        do throws(FileSystemError) {
            let author = isFile ? try author(of: number, in: vault) : .unknown
            if case .tree(_, let count) = value.extents, count > partCountMax {
                try placeInParts(value, number, isFile: isFile, as: author, in: vault)
            } else {
                let fetched = try vault.contents.fetchExtents(of: value, for: number)
                try vault.changing(as: author) { state throws(FileSystemError) in
                    guard let known = try state.tree.row(number) else { return }
                    let item = try state.tree.item(number)
                    if isFile, known.unsent.isDisjoint(with: .content) {
                        try state.setContent(of: item, to: fetched, like: nil, isSame: true)
                    } else {
                        try state.fillGaps(in: 0..<Int64.max, of: item, with: fetched)
                    }
                }
            }
            try finish(row, number, in: vault)
            return .done
        } catch {
            return try Self.placement(after: error)
        }
    }

    /// The device that stated the content of an item.
    private func author(of number: Int64, in vault: Vault) throws(FileSystemError) -> History.Author {
        try vault.reading { state throws(FileSystemError) in
            let item = try state.tree.peek(number).id
            let stated = try state.openFacts().values(.content(item)).contents.map(\.stamp).max()
            return stated.map { .device($0.dot.log) } ?? .unknown
        }
    }

    /// Records that a content is not owed any more.
    private func finish(_ row: KeptRow, _ number: Int64?, in vault: Vault) throws(FileSystemError) {
        try vault.changing { state throws(FileSystemError) in
            try state.index.removeKept(row.key)
        }
        guard let number else { return }
        vault.problems.remove(about: .pages(vault.id, number))
        vault.remoteReads.arrivals.notePages(of: number, areDamaged: false)
    }

    /// Does the same in parts, so that a content with millions of extents takes no more memory than others.
    private func placeInParts(
        _ value: ContentValue, _ number: Int64, isFile: Bool, as author: History.Author, in vault: Vault
    ) throws(FileSystemError) {
        var start: Int64 = 0
        _ = try vault.contents.fetchExtents(of: value, countMax: partCountMax) {
            part, end throws(FileSystemError) in
            let from = start
            start = end
            return try vault.changing(as: author) { state throws(FileSystemError) in
                guard let known = try state.tree.row(number) else { return false }
                let item = try state.tree.item(number)
                if isFile, known.unsent.isDisjoint(with: .content) {
                    try state.setPart(part, from: from, to: end, of: item)
                } else {
                    try state.fillGaps(in: from..<end, of: item, with: part)
                }
                return true
            }
        }
    }
}
