internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Synchronization

/// The fsyncs of a mount.
///
/// A flush takes as long as the disk needs, and serves everything that was written before it began. A
/// program that is alone gets its flush from the serving thread, which saves waking another one. If several
/// programs make requests, or the disk is slow, the thread `coffer-sync` makes the flushes, so that other
/// requests need not wait; the fsyncs that arrive during a flush share the next one.
final class SyncGroups: Sendable {
    /// The number of unsynced bytes from which a flush takes long on any disk.
    private static let longByteCount = 4 << 20
    /// The time in nanoseconds from which a flush takes so long that waking a thread costs little beside it, even
    /// if the processors are busy.
    private static let longTime: Int64 = 4_000_000

    private struct Groups {
        /// The requests that the next flush of each vault serves; with nil, those for all vaults.
        var waiting: [ObjectIdentifier?: [HeldRequest]] = [:]
        /// The number of flushes that the thread has not finished.
        var openCount = 0
    }

    private let thread = RequestThread("coffer-sync")
    private let groups = Mutex(Groups())
    /// How long flushes took lately, in nanoseconds; a disk counts as slow until it has shown that it is not.
    private let usualTime = Atomic(2 * SyncGroups.longTime)

    /// The number of flushes that the thread was asked for.
    var groupCount: Int { thread.count }
    /// The number of requests that wait for a flush that has not begun.
    var waitingCount: Int { groups.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    /// Answers an fsync once everything that was changed before it is durable.
    ///
    /// - Parameters:
    ///   - vault: The vault to flush; nil for all.
    ///   - severalCallers: Whether other programs are making requests.
    ///   - flush: Makes everything durable; called by one thread or another.
    func perform(
        _ vault: Vault?, _ request: HeldRequest, severalCallers: Bool,
        _ flush: @escaping @Sendable () throws(FileSystemError) -> Void
    ) {
        let key = vault.map { ObjectIdentifier($0) }
        let isLong =
            severalCallers || usualTime.load(ordering: .relaxed) >= Self.longTime
            || (vault?.unsyncedByteCount ?? 0) >= Self.longByteCount
        enum Place { case here, group, newGroup }
        let place: Place = groups.withLock { groups in
            guard isLong || groups.openCount > 0 else { return .here }
            let isNew = groups.waiting[key] == nil
            groups.waiting[key, default: []].append(request)
            if isNew { groups.openCount += 1 }
            return isNew ? .newGroup : .group
        }
        switch place {
        case .group: break
        case .here: answer([request], timed(flush))
        case .newGroup:
            // If there is no thread, this one waits for the disk.
            if !thread.enqueue({ [self] in performGroup(key, flush) }) { performGroup(key, flush) }
        }
    }

    /// Returns once all requests are answered; later ones are answered by the calling thread.
    func stop() { thread.stop() }

    private func performGroup(
        _ key: ObjectIdentifier?, _ flush: @Sendable () throws(FileSystemError) -> Void
    ) {
        // From here on, changes may be too late for this flush, and their fsyncs wait for the next one.
        let requests = groups.withLock { $0.waiting.removeValue(forKey: key) } ?? []
        let error = timed(flush)
        groups.withLock { $0.openCount -= 1 }
        answer(requests, error)
    }

    /// Flushes, and notes how long that took.
    private func timed(_ flush: () throws(FileSystemError) -> Void) -> FileSystemError? {
        let start = Clock.monotonic
        defer {
            let (time, usual) = (Clock.monotonic - start, usualTime.load(ordering: .relaxed))
            usualTime.store(time > usual ? time : (3 * usual + time) / 4, ordering: .relaxed)
        }
        do throws(FileSystemError) {
            try flush()
            return nil
        } catch {
            return error
        }
    }

    private func answer(_ requests: [HeldRequest], _ error: FileSystemError?) {
        for request in requests { request.reply?.code(error?.errno ?? 0) }
    }
}
