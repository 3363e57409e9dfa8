internal import CofferCrypto
internal import CofferFacts
package import CofferFormat
package import CofferStore
internal import CofferSystem

/// Publishes contents in packs on a remote, so that facts only contain references.
///
/// The small files of a commit share a pack. Contents of other devices are fetched when they are read, except
/// for the pages that describe them.
package final class RemoteContents: ContentPublishing {
    /// Starts the upload of a pack.
    package typealias Deliver = @Sendable (RemotePack) -> Sending.Delivery

    /// The total size of values at which the rest waits for the next commit, in bytes.
    private static let valueByteCountMax = 2 << 20
    /// The total size of contents at which the rest waits for the next commit, so that other devices see some
    /// changes soon.
    private static let contentByteCountMax: Int64 = 1 << 30

    private let deliver: Deliver
    let prepared = RankedMutex(Prepared(), rank: .leaf)
    /// The items that lack their contents, according to rows; nil until those have been read.
    let owed = RankedMutex<Owed?>(nil, rank: .leaf)

    /// What is known of contents of which other places are known whose pages have not arrived.
    let places = RankedMutex(OwedPlaces(), rank: .leaf)

    struct Owed {
        var items: Set<ItemID> = []
        /// The items whose content only a newer Coffer can read.
        var newer: Set<ItemID> = []
        /// The items whose pages are damaged on the remote, and what was seen of them then.
        var damaged: [ItemID: Look] = [:]
        /// The time until which none of them is looked for.
        var rest: Int64 = 0
        /// How often the remote has answered again after a failure.
        var answers: UInt64 = 0

        mutating func insert(_ item: ItemID, isNewer: Bool) {
            items.insert(item)
            if isNewer { newer.insert(item) }
        }

        mutating func remove(_ item: ItemID) {
            items.remove(item)
            newer.remove(item)
            damaged[item] = nil
        }
    }

    /// What was visible when a content was found damaged; another try cannot help while it is the same.
    struct Look: Equatable {
        /// The value of `Arrivals.looks` then.
        let number: UInt64
        /// The size of the pack with the root of its pages.
        let byteCount: Int

        /// Nothing was looked at before the content was fetched, so it is fetched once more.
        static let unseen = Look(number: 0, byteCount: -1)
    }

    /// Contents with pages, by their values, and their total number of extents.
    struct Prepared {
        var contents: [[UInt8]: FetchedContent] = [:]
        var count = 0
    }

    /// The number of extents above which a content is put in place in parts, of this size.
    private let partCountMax: Int
    /// How long contents that have not arrived are left alone, in nanoseconds.
    let pause: Int64

    /// Creates the contents of a vault whose packs `deliver` uploads.
    package convenience init(_ deliver: @escaping Deliver) {
        self.init(partCountMax: 1 << 14, pause: 5_000_000_000, deliver)
    }

    init(partCountMax: Int, pause: Int64 = 0, _ deliver: @escaping Deliver) {
        self.deliver = deliver
        self.partCountMax = partCountMax
        self.pause = pause
    }

    // MARK: Sending

    package func contents(
        of numbers: [Int64], in vault: Vault
    ) throws(FileSystemError) -> [Int64: Fact.Content] {
        // Extents that only this device can decrypt are useless to others.
        for number in numbers { try vault.repacking.sealAnew(number) }
        let sending = try vault.outgoing.beginSending(beginning: deliver)
        vault.state.withLock { $0.tree.unsendable.subtract(numbers) }
        var byteCount: Int64 = 0
        for number in numbers where byteCount < Self.contentByteCountMax {
            do throws(FileSystemError) {
                byteCount += try sending.add(number)
            } catch {
                // These wait, and do not hold up others; damage is in the problem log.
                switch error {
                case .stale: continue
                case .damaged, .notArrived, .fileTooLarge:
                    vault.state.withLock { _ = $0.tree.unsendable.insert(number) }
                default: throw error
                }
            }
        }
        var contents: [Int64: Fact.Content] = [:]
        var valueByteCount = 0
        for (number, value) in try sending.finish().sorted(by: { $0.key < $1.key })
        where valueByteCount < Self.valueByteCountMax {
            let bytes = value.bytes
            valueByteCount += bytes.count
            contents[number] = Fact.Content(bytes: bytes, size: UInt64(value.size), origin: value.origin)
        }
        return contents
    }

    // MARK: Receiving

    /// The maximum number of extents that are kept in memory until they are applied.
    private static let preparedCountMax = 1 << 19

    package func prepare(
        _ content: Fact.Content, of item: ItemID, in vault: Vault
    ) throws(FileSystemError) {
        guard let value = Self.value(content), case .tree(_, let count) = value.extents else { return }
        let isWanted = prepared.withLock { prepared in
            prepared.contents[content.bytes] == nil && prepared.count + count <= Self.preparedCountMax
        }
        guard isWanted, let fetched = try Self.fetch(value, for: vault.number(of: item), in: vault) else {
            return
        }
        prepared.withLock { prepared in
            prepared.contents[content.bytes] = fetched
            prepared.count += count
        }
    }

    /// The extents of a value; nil if they cannot be fetched, or not yet.
    private static func fetch(
        _ value: ContentValue, for number: Int64?, in vault: Vault
    ) throws(FileSystemError) -> FetchedContent? {
        do throws(FileSystemError) {
            return try vault.contents.fetchExtents(of: value, for: number)
        } catch {
            // It is tried again when the remote answers, or when the missing data has arrived.
            _ = try placement(after: error)
            return nil
        }
    }

    /// The state of a content that could not be fetched.
    static func placement(after error: FileSystemError) throws(FileSystemError) -> Placement {
        switch error {
        case .damaged(let place): .isDamaged(place: place)
        case .notArrived: .hasNotArrived
        case .unreachable, .timedOut: .remoteIsSilent
        default: throw error
        }
    }

    package func begins(
        _ new: Fact.Content, with old: Fact.Content, at number: Int64?, in vault: Vault
    ) throws(FileSystemError) -> Bool {
        func known(_ content: Fact.Content) -> FetchedContent? {
            Self.fetched(content) ?? prepared.withLock { $0.contents[content.bytes] }
        }
        guard let fetched = known(new), let value = Self.value(old) else { return false }
        if case .tree(_, let count) = value.extents, count > Self.preparedCountMax { return false }
        // Most of its pages are on this device, as rows of the file.
        guard let before = known(old) ?? (try? vault.contents.fetchExtents(of: value, for: number)) else {
            return false
        }
        return vault.incoming.begins(fetched, with: before, at: number)
    }

    package func forgetPrepared() { prepared.withLock { $0 = Prepared() } }

    package func apply(
        _ content: Fact.Content?, to file: ContentTarget, _ state: inout VaultState
    ) throws(FileSystemError) {
        let key = KeptRow.Key.owed(file.id)
        if try isOwed(file.id, &state) {
            try state.index.removeKept(key)
            owed.withLock { $0?.remove(file.id) }
            file.vault.problems.remove(about: .pages(file.vault.id, file.number))
        }
        if places.withLock({ $0.mayBeThere }) { try state.index.removeKept(.places(file.id)) }
        guard let content else { return try file.clear(&state) }
        let fetched = Self.fetched(content) ?? prepared.withLock { $0.contents[content.bytes] }
        let isNewer = ContentValue.isNewer(content.bytes)
        if fetched == nil, isNewer || Self.value(content) != nil {
            try state.tree.keep([KeptChange(key, content.bytes)])
            owed.withLock { owed in
                owed?.insert(file.id, isNewer: isNewer)
                owed?.rest = 0
            }
            file.vault.remoteReads.arrivals.notePages(of: file.number, areDamaged: false)
        }
        if isNewer {
            file.vault.problems.add(
                "A file of \(content.size) bytes was written by a newer Coffer: update Coffer to read it.")
        }
        let origin = Self.value(content)?.origin ?? file.id
        try state.setContent(
            of: file.item, to: fetched ?? .unreadable(content.size, of: origin), like: file.other)
    }

    // MARK: Owed contents

    /// Whether a row says that an item lacks its content.
    func isOwed(_ item: ItemID, _ state: inout VaultState) throws(FileSystemError) -> Bool {
        if let isOwed = owed.withLock({ $0?.items.contains(item) }) { return isOwed }
        var found = Owed()
        var last: KeptRow.Key?
        repeat {
            let page = try state.index.keptRows(.owed ... .owed, after: last, limit: 16)
            for row in page {
                guard let item = ItemID(bytes: row.key.id) else { continue }
                found.insert(item, isNewer: ContentValue.isNewer(row.value))
            }
            last = page.last?.key
        } while last != nil
        let all = found
        owed.withLock { $0 = all }
        return all.items.contains(item)
    }

    /// Whether a content may be waiting to be put in place.
    package var mayOwe: Bool {
        places.withLock { $0.mayBeThere }
            || owed.withLock { $0.map { $0.items.count > $0.newer.count } ?? true }
    }

    /// Makes the next call look at once for contents that are owed: the remote answers again.
    package func noteRemoteAnswers() {
        owed.withLock { owed in
            owed?.rest = 0
            owed?.answers &+= 1
        }
    }

    /// Whether a content that this device lacks may be waiting.
    private var mayLack: Bool { owed.withLock { $0.map { $0.items.count > $0.newer.count } ?? true } }

    package func placeArrived(in vault: Vault) throws(FileSystemError) {
        try setArrivedPlaces(in: vault)
        let known = owed.withLock { $0 }
        if !mayLack { return }
        if let known, Clock.monotonic < known.rest { return }
        var left = Owed(rest: Clock.monotonic + pause)
        var last: KeptRow.Key?
        while true {
            let page = try vault.reading { state throws(FileSystemError) in
                try state.index.keptRows(.owed ... .owed, after: last, limit: 16)
            }
            for row in page {
                let item = ItemID(bytes: row.key.id)
                if ContentValue.isNewer(row.value), let item {
                    left.insert(item, isNewer: true)
                    continue
                }
                var look: Look?
                if let item, let before = known?.damaged[item] {
                    look = Self.look(at: row, in: vault)
                    if look == before {
                        left.insert(item, isNewer: false)
                        left.damaged[item] = before
                        continue
                    }
                }
                switch try placeArrived(row, in: vault) {
                case .done: continue
                // A content that has not arrived, or is damaged, does not hold up others.
                case .hasNotArrived: if let item { left.insert(item, isNewer: false) }
                case .isDamaged(let place):
                    try noteDamage(at: place, of: row, in: vault)
                    if let item { left.insert(item, isNewer: false) }
                    if let item { left.damaged[item] = look ?? .unseen }
                case .remoteIsSilent:
                    // Later calls must not wait for the remote each time.
                    return owed.withLock { owed in
                        guard owed?.answers == known?.answers else { return }
                        owed?.rest = Clock.monotonic + 6 * pause
                    }
                }
            }
            guard let end = page.last else { break }
            last = end.key
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

    /// Reports a damaged content.
    private func noteDamage(at place: String, of row: KeptRow, in vault: Vault) throws(FileSystemError) {
        guard let item = ItemID(bytes: row.key.id), let number = try vault.number(of: item) else { return }
        vault.problems.add(
            "\(vault.path(of: number)) cannot be read: \(place) is damaged", about: .pages(vault.id, number))
        vault.remoteReads.arrivals.notePages(of: number, areDamaged: true)
    }

    /// Puts the content of one file in place.
    private func placeArrived(_ row: KeptRow, in vault: Vault) throws(FileSystemError) -> Placement {
        guard let item = ItemID(bytes: row.key.id), let number = try vault.number(of: item),
            let value = unsafe try? ContentValue(row.value.span.bytes)
        else {
            try finish(row, nil, in: vault)
            return .done
        }
        // If all of it was rewritten on this device, the local content wins.
        guard try vault.contents.lacksContent(number) else {
            try finish(row, number, in: vault)
            return .done
        }
        do throws(FileSystemError) {
            if case .tree(_, let count) = value.extents, count > partCountMax {
                try placeArrived(value, number, as: author(of: item, in: vault), in: vault)
                try finish(row, number, in: vault)
                return .done
            }
            let fetched = try vault.contents.fetchExtents(of: value, for: number)
            let author = try author(of: item, in: vault)
            try vault.changing(as: author) { state throws(FileSystemError) in
                try state.index.removeKept(row.key)
                let item = try state.tree.item(number)
                if item.row.unsent.isDisjoint(with: .content) {
                    try state.setContent(of: item, to: fetched, like: nil)
                } else {
                    try state.fillGaps(in: 0..<Int64.max, of: item, with: fetched)
                }
            }
            try finish(row, number, in: vault)
            return .done
        } catch {
            return try Self.placement(after: error)
        }
    }

    /// The device that stated the content of an item.
    private func author(of item: ItemID, in vault: Vault) throws(FileSystemError) -> History.Author {
        try vault.reading { state throws(FileSystemError) in
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
    private func placeArrived(
        _ value: ContentValue, _ number: Int64, as author: History.Author, in vault: Vault
    ) throws(FileSystemError) {
        var start: Int64 = 0
        _ = try vault.contents.fetchExtents(of: value, countMax: partCountMax) {
            part, end throws(FileSystemError) in
            let from = start
            start = end
            return try vault.changing(as: author) { state throws(FileSystemError) in
                guard let known = try state.tree.row(number) else { return false }
                let item = try state.tree.item(number)
                if known.unsent.isDisjoint(with: .content) {
                    try state.setPart(part, from: from, to: end, of: item)
                } else {
                    try state.fillGaps(in: from..<end, of: item, with: part)
                }
                return true
            }
        }
    }

    static func value(_ content: Fact.Content) -> ContentValue? {
        unsafe try? ContentValue(content.bytes.span.bytes)
    }

    /// A content without pages.
    static func fetched(_ content: Fact.Content) -> FetchedContent? {
        value(content).flatMap { FetchedContent($0) }
    }
}

extension FetchedContent {
    /// The maximum number of extents in a placeholder for an unreadable content.
    private static let unreadableCountMax = 1024

    /// A placeholder for a content of which nothing can be known; reading it fails.
    static func unreadable(_ byteCount: UInt64, of origin: ItemID) -> FetchedContent {
        let total = Int64(ExtentLayout.byteCountMax)
        let size = min(Int64(clamping: byteCount), total * Int64(unreadableCountMax))
        let entries = stride(from: 0, to: size, by: Int64.Stride(total)).map {
            ContentEntry.nowhere(from: $0, upTo: size)
        }
        let value = ContentValue(size: size, origin: origin, extents: .entries([]))
        return FetchedContent(value, entries, [], known: [])
    }
}

extension ContentEntry {
    /// An extent of which nothing is known; reading it fails.
    ///
    /// - Parameter end: The end of the content; the extent may end earlier.
    static func nowhere(from offset: Int64, upTo end: Int64) -> ContentEntry {
        let nowhere = SealedPlace(
            pack: .nowhere, position: UInt32(RemotePackHeader.byteCount), hash: .zero)
        let length = min(Int64(ExtentLayout.byteCountMax), end - offset)
        let prefix = NoncePrefix.random()
        return ContentEntry(
            offset: offset, length: length, base: offset, total: length, place: nowhere,
            prefixLow: prefix.low, prefixHigh: prefix.high, epoch: .first)
    }
}
