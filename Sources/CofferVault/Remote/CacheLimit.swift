internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// How much content stays here that is on a remote, too.
struct CacheLimit {
    /// In bytes of content; nil to keep all.
    var limit: Int64?
    /// Bytes of such contents that are here, at most: counted when some were last given up, and what came since.
    var byteCount: Int64 = 0
    /// Bytes that are on a remote and will count once changes of their files were sent.
    var unsentByteCount: Int64 = 0
    /// Files whose contents do not count, as they are pinned: as of when that was looked up last.
    var pinned: Set<Int64> = []
    /// Whether anything is pinned; nil where nobody has looked.
    var hasPins: Bool?
    /// How much is pinned, as it was counted last.
    var pinnedUse = RememberedCount<PinnedUse>()
    /// Whether they were ever counted.
    var isCounted = false

    /// When something may be given up again, by the monotonic clock in nanoseconds.
    var notBefore: Int64 = 0

    /// Whether there is something to count, or to give up.
    var isDue: Bool {
        limit.map { !isCounted || byteCount > $0 } ?? false && Clock.monotonic >= notBefore
    }

    /// Whether it is so much that whoever brings more has to wait.
    var isUrgent: Bool { limit.map { isCounted && byteCount > $0 + $0 / 4 } ?? false }

    /// Whether there may be something to give up once a commit says what was sent.
    var isDueAfterSending: Bool { limit.map { byteCount + unsentByteCount > $0 } ?? false }

    /// What is kept of it: some room is left, as giving up goes through the whole index.
    var target: Int64? { limit.map { $0 - $0 / 8 } }
}

extension Vault {
    /// Bounds the content that is kept here although it is on a remote, too; for as long as the vault is open.
    ///
    /// What was used least recently is given up in the background, and fetched again when it is read. Contents
    /// whose changes were not sent stay and do not count. While a file is read that is larger, there may be a
    /// quarter more. No more than a quarter of it is fetched ahead of a reader, who will find it there.
    ///
    /// - Parameter limit: In bytes; nil to keep all, as at first: nothing is given up any more when this returns.
    package func setCacheLimit(_ limit: Int64?) {
        let limit = limit.map { max(0, $0) }
        cache.withLock {
            $0.limit = limit
            $0.isCounted = false
        }
        remoteReads.bound(by: limit)
        if limit == nil { return evicting.withLock { _ in } }
        upkeep.noteUpkeep(isUrgent: true)
    }

    /// Notes that content of a file came here that can be given up; waits while there is far too much of it.
    func noteCached(_ byteCount: Int64, of file: Int64) {
        let (isDue, isUrgent) = cache.withLock { cache in
            if cache.pinned.contains(file) { return (false, false) }
            cache.byteCount += byteCount
            return (cache.isDue, cache.isUrgent)
        }
        if isUrgent {
            // Upkeep will find what is in the way.
            _ = try? evictIfDue()
        } else if isDue {
            upkeep.noteUpkeep(isUrgent: true)
        }
    }

    /// Has what is fetched of pinned files count no more.
    func notePinned() throws(FileSystemError) {
        let items = try pinnedItems()
        let pinned = try files(below: items)
        cache.withLock { cache in
            cache.pinned = pinned
            cache.hasPins = !items.isEmpty
        }
    }

    /// Notes that content was brought to a remote; a commit that says so is about to be made.
    func noteSent(_ byteCount: Int64) {
        cache.withLock { $0.unsentByteCount += byteCount }
    }

    /// Has looked for what can be given up, soon after content was sent.
    func evictAfterSending() {
        let isDue = cache.withLock { cache in
            if cache.isDueAfterSending { cache.isCounted = false }
            return cache.isDueAfterSending
        }
        if isDue { upkeep.noteUpkeep(isUrgent: false) }
    }

    /// How long nothing is given up after the remote was silent, in nanoseconds.
    private static var silencePause: Int64 { 60_000_000_000 }

    /// Gives up what is more than the limit.
    func evictIfDue() throws(FileSystemError) {
        if isReadOnly { return }
        try evicting.withLock { _ throws(FileSystemError) in
            let before = cache.withLock { $0 }
            guard before.isDue, let target = before.target else { return }
            let pinned = try pinnedFiles()
            let (left, unsent, isUnsure) = try giveUp(to: target, keeping: { pinned.contains($0) })
            cache.withLock { cache in
                cache.pinned = pinned
                // With what came meanwhile, some of which may have been counted.
                cache.byteCount = left + max(0, cache.byteCount - before.byteCount)
                cache.unsentByteCount = unsent + max(0, cache.unsentByteCount - before.unsentByteCount)
                cache.isCounted = true
                // What stays as the remote was silent is looked at again later.
                cache.notBefore = isUnsure ? Clock.monotonic + Self.silencePause : 0
            }
        }
    }
}
