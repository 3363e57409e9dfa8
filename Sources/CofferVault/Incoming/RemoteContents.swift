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
    /// The contents that are owed, according to rows; nil until those have been read.
    let owed = RankedMutex<Owed?>(nil, rank: .leaf)

    /// What is known of contents of which other places are known whose pages have not arrived.
    let places = RankedMutex(OwedPlaces(), rank: .leaf)

    struct Owed {
        var rows: Set<KeptRow.Key> = []
        /// Those that only a newer Coffer can read.
        var newer: Set<KeptRow.Key> = []
        /// Those whose pages are damaged on the remote, and what was seen of them then.
        var damaged: [KeptRow.Key: Look] = [:]
        /// Whether versions may have become further ones.
        var mayHaveMore = false
        /// The time until which none of them is looked for.
        var rest: Int64 = 0
        /// How often the remote has answered again after a failure.
        var answers: UInt64 = 0

        mutating func insert(_ row: KeptRow.Key, isNewer: Bool) {
            rows.insert(row)
            if isNewer { newer.insert(row) }
        }

        mutating func remove(_ row: KeptRow.Key) {
            rows.remove(row)
            newer.remove(row)
            damaged[row] = nil
        }

        /// Whether some of them may arrive.
        var mayArrive: Bool { rows.count > newer.count || mayHaveMore }
        /// The kinds of rows that say what is owed.
        static let kinds = [KeptRow.Kind.owed, .lacking]
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
    let partCountMax: Int
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
        try apply(content, to: file, isSame: false, &state)
    }

    /// - Parameter isSame: Whether the file has had this content all the time, and it only lies elsewhere.
    func apply(
        _ content: Fact.Content?, to file: ContentTarget, isSame: Bool, _ state: inout VaultState
    ) throws(FileSystemError) {
        let isOwed = try isOwed(file.id, &state)
        // What loses a part of the old content goes on waiting for it; only the new content has the row from now on.
        if isOwed, let other = file.other, try state.hasGaps(other) {
            try state.noteLacking(other, asDoes: file.number)
        }
        let fetched = content.flatMap { known($0) }
        if let content {
            let origin = Self.value(content)?.origin ?? file.id
            try state.setContent(
                of: file.item, to: fetched ?? .unreadable(content.size, of: origin), like: file.other,
                isSame: isSame)
        } else {
            try file.clear(&state)
        }
        if isOwed {
            try state.index.removeKept(.owed(file.id))
            owed.withLock { owed in
                owed?.remove(.owed(file.id))
                owed?.mayHaveMore = true
            }
            file.vault.problems.remove(about: .pages(file.vault.id, file.number))
        }
        if places.withLock({ $0.mayBeThere }) { try state.index.removeKept(.places(file.id)) }
        guard let content, fetched == nil else { return }
        let isNewer = ContentValue.isNewer(content.bytes)
        if isNewer || Self.value(content) != nil {
            try state.tree.keep([KeptChange(.owed(file.id), content.bytes)])
            owed.withLock { owed in
                owed?.insert(.owed(file.id), isNewer: isNewer)
                owed?.rest = 0
            }
            file.vault.remoteReads.arrivals.notePages(of: file.number, areDamaged: false)
        }
        if isNewer {
            file.vault.problems.add(
                "A file of \(content.size) bytes was written by a newer Coffer: update Coffer to read it.")
        }
    }

    /// The extents of a content, if it needs no pages, or if those were prepared.
    private func known(_ content: Fact.Content) -> FetchedContent? {
        Self.fetched(content) ?? prepared.withLock { $0.contents[content.bytes] }
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
