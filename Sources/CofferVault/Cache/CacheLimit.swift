internal import CofferFormat
internal import CofferSystem

/// How much content that is also on a remote stays on this device.
struct CacheLimit {
    /// The limit in bytes of content; nil to keep everything.
    var limit: Int64?
    /// The maximum number of bytes of such contents on this device: the count of the last eviction, plus
    /// bytes that were added since.
    var byteCount: Int64 = 0
    /// The number of bytes that are on a remote, and will count once the changes of their files are sent.
    var unsentByteCount: Int64 = 0
    /// The pinned files, whose contents do not count, as of the last lookup.
    var pinned: Set<Int64> = []
    /// Whether anything is pinned; nil if that was never looked up.
    var hasPins: Bool?
    /// The last count of pinned contents.
    var pinnedUse = RememberedCount<PinnedUse>()
    /// Whether the bytes were ever counted.
    var isCounted = false

    /// When eviction may start again, by the monotonic clock in nanoseconds.
    var notBefore: Int64 = 0

    /// Whether there is something to count, or to evict.
    var isDue: Bool {
        limit.map { !isCounted || byteCount > $0 } ?? false && Clock.monotonic >= notBefore
    }

    /// Whether there is so much that fetches must wait for eviction.
    var isUrgent: Bool { limit.map { isCounted && byteCount > $0 + $0 / 4 } ?? false }

    /// Whether there may be something to evict once a commit records what was sent.
    var isDueAfterSending: Bool { limit.map { byteCount + unsentByteCount > $0 } ?? false }

    /// How much eviction keeps: it makes some extra room, as it scans the whole index.
    var target: Int64? { limit.map { $0 - $0 / 8 } }
}

extension Cache {
    /// Limits the content on this device that is also on a remote, for as long as the vault is open.
    ///
    /// The least recently used contents are evicted in the background, and fetched again when they are read.
    /// Contents with unsent changes stay and do not count. While a larger file is read, the limit may be
    /// exceeded by a quarter. At most a quarter of the limit is fetched ahead of a reader, so that it is
    /// still there when it is read.
    ///
    /// - Parameter limit: In bytes; nil to keep everything, which is the default: nothing is evicted any more
    ///   when this returns.
    package func setCacheLimit(_ limit: Int64?) {
        let limit = limit.map { max(0, $0) }
        vault.cacheLimit.withLock {
            $0.limit = limit
            $0.isCounted = false
        }
        vault.remoteReads.bound(by: limit)
        if limit == nil { return vault.evicting.withLock { _ in } }
        vault.upkeep.noteUpkeep(isUrgent: true)
    }

    /// Records that evictable content of a file was fetched; waits if there is far too much of it.
    func noteCached(_ byteCount: Int64, of file: Int64) {
        let (isDue, isUrgent) = vault.cacheLimit.withLock { cache in
            if cache.pinned.contains(file) { return (false, false) }
            cache.byteCount += byteCount
            return (cache.isDue, cache.isUrgent)
        }
        if isUrgent {
            // The upkeep thread will meet the same obstacle, and report it.
            _ = try? evictIfDue()
        } else if isDue {
            vault.upkeep.noteUpkeep(isUrgent: true)
        }
    }

    /// Stops counting the fetched contents of pinned files.
    func notePinned() throws(FileSystemError) {
        let items = try pinnedItems()
        let pinned = try vault.files(below: items)
        vault.cacheLimit.withLock { cache in
            cache.pinned = pinned
            cache.hasPins = !items.isEmpty
        }
    }

    /// Records that content was sent to a remote; a commit that says so will follow.
    func noteSent(_ byteCount: Int64) {
        vault.cacheLimit.withLock { $0.unsentByteCount += byteCount }
    }

    /// Schedules a check for evictable contents, after content was sent.
    func evictAfterSending() {
        let isDue = vault.cacheLimit.withLock { cache in
            if cache.isDueAfterSending { cache.isCounted = false }
            return cache.isDueAfterSending
        }
        if isDue { vault.upkeep.noteUpkeep(isUrgent: false) }
    }

    /// How long eviction pauses after the remote did not answer, in nanoseconds.
    private static var silencePause: Int64 { 60_000_000_000 }

    /// Evicts contents above the limit.
    func evictIfDue() throws(FileSystemError) {
        if vault.isReadOnly { return }
        try vault.evicting.withLock { _ throws(FileSystemError) in
            let before = vault.cacheLimit.withLock { $0 }
            guard before.isDue, let target = before.target else { return }
            let pinned = try pinnedFiles()
            let (left, unsent, isUnsure) = try giveUp(to: target, keeping: { pinned.contains($0) })
            vault.cacheLimit.withLock { cache in
                cache.pinned = pinned
                // Includes bytes that were added in the meantime, some of which may already be counted.
                cache.byteCount = left + max(0, cache.byteCount - before.byteCount)
                cache.unsentByteCount = unsent + max(0, cache.unsentByteCount - before.unsentByteCount)
                cache.isCounted = true
                // Contents that stay because the remote did not answer are looked at again later.
                cache.notBefore = isUnsure ? Clock.monotonic + Self.silencePause : 0
            }
        }
    }
}
